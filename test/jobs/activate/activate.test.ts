import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { insertActivation, readActivation } from '#core/db/activations.ts'
import type { ActivationRow } from '#core/db/activations.ts'
import type { SearchNodeClient } from '#core/rpc/search-node.ts'
import { activate } from '#jobs/activate/pipeline.ts'
import { profileIdOf, projectionIdOf, versionIdOf } from '#jobs/build/ids.ts'
import { runBuildChild } from '#jobs/build/run-child.ts'
import { reconcile } from '#jobs/maintenance/reconcile.ts'
import { reviewVersion } from '#jobs/operator/actions/reviews.ts'
import { connectSearchNodes } from '#jobs/search-nodes.ts'
import { createJobsWorld, silent, smallSource } from '#test/jobs/world.ts'
import type { JobsWorld } from '#test/jobs/world.ts'

const plaintext = {
  SEARCH_TLS_CA: undefined,
  SEARCH_TLS_CERT: undefined,
  SEARCH_TLS_KEY: undefined,
  SEARCH_PLAINTEXT: 'refuse',
} as const
let world: JobsWorld
let nodes: readonly SearchNodeClient[]
let knowledgeBaseId: string
let first: string
let second: string
let third: string

beforeAll(async () => {
  world = await createJobsWorld()
  // The second address answers nobody: a node that is away.
  nodes = connectSearchNodes([world.searchNode, '127.0.0.1:9'], plaintext)
  knowledgeBaseId = await world.createKnowledgeBase()
  const importId = await world.importFolder(knowledgeBaseId, smallSource)
  ;[first = '', second = '', third = ''] = await Promise.all(
    [1, 2, 3].map(async () => {
      const buildId = await world.requestBuild(knowledgeBaseId, importId)
      expect(await runBuildChild(buildId, { environment: world.environment })).toMatchObject({ outcome: 'succeeded' })
      return buildId
    }),
  )
})
afterAll(async () => {
  for (const node of nodes) node.close()
  await world.stop()
})

async function review(buildId: string, verdict: 'approved' | 'rejected' = 'approved'): Promise<void> {
  await world.owner.query('insert into reviews (id, version_id, verdict, reviewer, note) values ($1, $2, $3, $4, $5)', [
    randomUUID(),
    versionIdOf(buildId),
    verdict,
    'reviewer',
    '',
  ])
}

async function request(
  buildId: string,
  expectedBuildId: string | null,
  kind: ActivationRow['kind'] = 'activate',
  overrideReason: string | null = null,
): Promise<string> {
  const id = randomUUID()
  const expectedVersionId = expectedBuildId === null ? null : versionIdOf(expectedBuildId)
  await insertActivation(world.owner, {
    id,
    knowledgeBaseId,
    versionId: versionIdOf(buildId),
    expectedVersionId,
    kind,
    actor: 'alice',
    overrideReason,
  })
  return id
}

async function run(
  buildId: string,
  expectedBuildId: string | null,
  kind?: ActivationRow['kind'],
  overrideReason?: string,
): Promise<ActivationRow | undefined> {
  const id = await request(buildId, expectedBuildId, kind, overrideReason)
  await activate({ database: world.service, nodes, log: silent }, id)
  return readActivation(world.owner, id)
}

interface Shown {
  readonly active: string | null
  readonly previous: string | null
  readonly states: Readonly<Record<string, string>>
  readonly audited: number
}

async function shown(): Promise<Shown> {
  const { rows } = await world.owner.query<Shown>(
    `select (select version_id from active_versions where knowledge_base_id = $1) as active, (select previous_version_id from active_versions where knowledge_base_id = $1) as previous,
       (select jsonb_object_agg(id, state) from corpus_versions where knowledge_base_id = $1) as states,
       (select count(*)::int from audit where action in ('version.activate', 'version.rollback')) as audited`,
    [knowledgeBaseId],
  )
  return rows[0] ?? { active: null, previous: null, states: {}, audited: 0 }
}

/** The tests tell one story: nothing active, first, second, back to first. */
describe('an activation', () => {
  test('is refused without a review, and says to review first', async () => {
    expect(await run(first, null)).toMatchObject({ state: 'refused', message: expect.stringContaining('review it') })
    expect(await shown()).toMatchObject({ active: null, audited: 0 })
  })

  test('is refused when the newest review rejects', async () => {
    await review(third)
    await review(third, 'rejected')
    expect(await run(third, null)).toMatchObject({
      state: 'refused',
      message: expect.stringContaining('newest review rejects'),
    })
  })

  test('is refused when the evaluation did not pass', async () => {
    await review(first)
    await world.owner.query('update corpus_versions set passed = false where id = $1', [versionIdOf(first)])
    expect(await run(first, null)).toMatchObject({
      state: 'refused',
      message: expect.stringContaining('did not pass its evaluation'),
    })
    await world.owner.query('update corpus_versions set passed = true where id = $1', [versionIdOf(first)])
  })

  test('is refused when no search node answers', async () => {
    const id = await request(first, null)
    await activate({ database: world.service, nodes: nodes.slice(1), log: silent }, id)
    expect(await readActivation(world.owner, id)).toMatchObject({
      state: 'refused',
      message: expect.stringContaining('No search node answers'),
    })
  })

  test('is refused when a live search node cannot load the version', async () => {
    const broken = (
      await world.owner.query<{ manifest_digest: Buffer }>('select manifest_digest from projections where id = $1', [
        projectionIdOf(first),
      ])
    ).rows[0]?.manifest_digest
    await nodes[0]?.call('ReleaseVersion', { projection_id: projectionIdOf(first) }, 5_000)
    await world.owner.query('update projections set manifest_digest = $2 where id = $1', [
      projectionIdOf(first),
      Buffer.alloc(32, 7),
    ])
    expect(await run(first, null)).toMatchObject({
      state: 'refused',
      message: expect.stringContaining('could not be loaded'),
    })
    await world.owner.query('update projections set manifest_digest = $2 where id = $1', [
      projectionIdOf(first),
      broken,
    ])
    expect((await shown()).active).toBeNull()
  })

  test('that ten runs race for moves the pointer once and writes one audit row', async () => {
    const id = await request(first, null)
    const outcomes = await Promise.all(
      Array.from({ length: 10 }, () => activate({ database: world.service, nodes, log: silent }, id)),
    )
    expect(outcomes.filter((outcome) => outcome === 'done')).toHaveLength(1)
    expect(await shown()).toMatchObject({
      active: versionIdOf(first),
      previous: null,
      audited: 1,
      states: { [versionIdOf(first)]: 'active', [versionIdOf(second)]: 'candidate' },
    })
    expect(await readActivation(world.owner, id)).toMatchObject({ state: 'done' })
  })

  test('that is repeated after it was done changes nothing', async () => {
    const before = await shown()
    const { rows } = await world.owner.query<{ id: string }>("select id from activations where state = 'done'")
    expect(await activate({ database: world.service, nodes, log: silent }, rows[0]?.id ?? '')).toBe('finished before')
    expect(await shown()).toEqual(before)
  })

  test('is refused when another version than the expected one is active', async () => {
    await review(second)
    expect(await run(second, null)).toMatchObject({
      state: 'refused',
      message: expect.stringContaining('Another version became active'),
    })
    expect(await run(second, third)).toMatchObject({ state: 'refused' })
    expect(await shown()).toMatchObject({ active: versionIdOf(first), states: { [versionIdOf(second)]: 'candidate' } })
  })

  test('of a candidate that was compared with another version than is active needs a reason too', async () => {
    const mark = "update corpus_versions set evaluation = jsonb_set(evaluation, '{comparison}', $2) where id = $1"
    await world.owner.query(mark, [
      versionIdOf(second),
      JSON.stringify({ worse: false, version_id: versionIdOf(third) }),
    ])
    expect(await run(second, first)).toMatchObject({
      state: 'refused',
      message: expect.stringContaining('compared with another one'),
    })
    await world.owner.query(mark, [
      versionIdOf(second),
      JSON.stringify({ worse: true, version_id: versionIdOf(first) }),
    ])
    expect(await run(second, first)).toMatchObject({
      state: 'refused',
      message: expect.stringContaining('worse than the active one'),
    })
  })

  test('of a candidate that is worse than the active version needs a reason, which the audit trail keeps', async () => {
    const mark =
      `update corpus_versions set evaluation = jsonb_set(evaluation, '{comparison}', '{"worse": ` +
      `true}') where id = $1`
    await world.owner.query(mark, [versionIdOf(second)])
    expect(await run(second, first)).toMatchObject({
      state: 'refused',
      message: expect.stringContaining('worse than the active one'),
    })
    expect((await shown()).active).toBe(versionIdOf(first))
    expect(await run(second, first, 'activate', 'The repealed rules had to go.')).toMatchObject({ state: 'done' })
    const { rows } = await world.owner.query(
      "select detail ->> 'override_reason' as reason from audit where action = 'version.activate' " +
        'order by id desc limit 1',
    )
    expect(rows).toEqual([{ reason: 'The repealed rules had to go.' }])
  })

  test('retires the predecessor and remembers it', async () => {
    expect(await shown()).toMatchObject({
      active: versionIdOf(second),
      previous: versionIdOf(first),
      audited: 2,
      states: { [versionIdOf(first)]: 'retired', [versionIdOf(second)]: 'active' },
    })
  })

  test('returns to a retired version only as a rollback', async () => {
    expect(await run(first, second)).toMatchObject({
      state: 'refused',
      message: expect.stringContaining('operator rollback'),
    })
    expect(await run(third, second, 'rollback')).toMatchObject({
      state: 'refused',
      message: expect.stringContaining('never active'),
    })
    expect(await run(first, second, 'rollback')).toMatchObject({ state: 'done' })
    expect(await shown()).toMatchObject({ active: versionIdOf(first), previous: versionIdOf(second), audited: 3 })
    const { rows } = await world.owner.query(
      "select actor, action, subject, detail from audit where action = 'version.rollback'",
    )
    expect(rows).toMatchObject([
      {
        actor: 'alice',
        action: 'version.rollback',
        subject: `version:${versionIdOf(first)}`,
        detail: { predecessor: versionIdOf(second) },
      },
    ])
  })

  test('waits for a review of the same version that is under way, and is refused if that rejects', async () => {
    const holder = await world.owner.connect()
    try {
      // Holds the review back between its decision and its commit.
      await holder.query('begin')
      await holder.query('lock table audit in share row exclusive mode')
      const rejected = reviewVersion(
        { database: world.owner, actor: 'bob' },
        { version: versionIdOf(second), verdict: 'rejected', reviewer: 'bob', note: 'wrong dates' },
      )
      await waiting(1)
      const rollback = run(second, first, 'rollback')
      await waiting(2)
      await holder.query('commit')
      await rejected
      expect(await rollback).toMatchObject({
        state: 'refused',
        message: expect.stringContaining('newest review rejects'),
      })
    } finally {
      holder.release()
    }
    expect(await shown()).toMatchObject({ active: versionIdOf(first), states: { [versionIdOf(second)]: 'retired' } })
  })

  test('of a version of another knowledge base is refused', async () => {
    const id = randomUUID()
    await insertActivation(world.owner, {
      id,
      knowledgeBaseId: await world.createKnowledgeBase(),
      versionId: versionIdOf(second),
      expectedVersionId: null,
      kind: 'activate',
      actor: 'alice',
      overrideReason: null,
    })
    await activate({ database: world.service, nodes, log: silent }, id)
    expect(await readActivation(world.owner, id)).toMatchObject({
      state: 'refused',
      message: expect.stringContaining('does not belong'),
    })
  })
})

describe('reconciliation', () => {
  const loaded = async (): Promise<readonly string[]> =>
    ((await nodes[0]?.call('GetStatus', {}, 5_000))?.loaded ?? [])
      .filter((version) => version.state === 'loaded')
      .map((version) => version.projection_id)
  const settle = (): Promise<void> => reconcile({ database: world.service, nodes, log: silent })

  test('keeps what was wanted a moment ago, and lets it go once nothing can be pinned to it', async () => {
    await settle()
    expect(await loaded()).toEqual(expect.arrayContaining([first, second, third].map(projectionIdOf)))
    await world.owner.query(
      "update active_versions set activated_at = now() - interval '1 hour'; update builds set " +
        "updated_at = now() - interval '1 hour'; update activations set finished_at = now() - interval " +
        "'1 hour'",
    )
    await settle()
    expect((await loaded()).toSorted()).toEqual([first, second].map(projectionIdOf).toSorted())
  })

  test('lets nothing go that a waiting activation is about to make active', async () => {
    await nodes[0]?.call(
      'PrepareVersion',
      { projection_id: projectionIdOf(third), manifest_digest: await digestOf(third) },
      10_000,
    )
    const id = await request(third, first)
    await settle()
    expect(await loaded()).toContain(projectionIdOf(third))
    await world.owner.query(
      "update activations set state = 'refused', finished_at = now() - interval '1 hour' where id = $1",
      [id],
    )
    await settle()
    expect(await loaded()).not.toContain(projectionIdOf(third))
  })

  test('loads on a node what it lacks of the active version, its predecessor and entitled profiles', async () => {
    for (const buildId of [first, second])
      await nodes[0]?.call('ReleaseVersion', { projection_id: projectionIdOf(buildId) }, 5_000)
    await entitle(profileIdOf(third))
    await Promise.all([settle(), settle()])
    expect((await loaded()).toSorted()).toEqual([first, second, third].map(projectionIdOf).toSorted())
  })

  test('keeps the version of an explicitly entitled profile loaded for as long as the entitlement is active', async () => {
    const age = (): Promise<unknown> =>
      world.owner.query("update entitlements set updated_at = now() - interval '1 hour'")
    await age()
    await settle()
    expect(await loaded()).toContain(projectionIdOf(third))
    await world.owner.query('update entitlements set active = false')
    await age()
    await settle()
    expect((await loaded()).toSorted()).toEqual([first, second].map(projectionIdOf).toSorted())
  })
})

/** Until so many sessions of this database wait for a lock. */
async function waiting(sessions: number): Promise<void> {
  for (let count = 0; count < sessions; await sleep(10)) {
    const { rows } = await world.owner.query<{ count: number }>(
      'select count(*)::int as count from pg_stat_activity where datname = current_database() and ' +
        "wait_event_type = 'Lock'",
    )
    count = rows[0]?.count ?? 0
  }
}

async function digestOf(buildId: string): Promise<Buffer> {
  const { rows } = await world.owner.query<{ manifest_digest: Buffer }>(
    'select manifest_digest from projections where id = $1',
    [projectionIdOf(buildId)],
  )
  return rows[0]?.manifest_digest ?? Buffer.alloc(0)
}

async function entitle(profileId: string): Promise<void> {
  await world.owner.query(
    `with o as (insert into organizations (id, name) values (gen_random_uuid(), 'o') returning id),
       c as (insert into clients (id, organization_id, name) select gen_random_uuid(), id, 'c' from o returning id),
       p as (insert into plans (id, name, limits) values (gen_random_uuid(), 'p', '{}') returning id)
     insert into entitlements (id, client_id, environment, knowledge_base_id, plan_id, languages, jurisdictions, profile_ids)
     select gen_random_uuid(), c.id, 'test', $1, p.id, '{en}', '{HS-M}', array[$2::uuid] from c, p`,
    [knowledgeBaseId, profileId],
  )
}
