import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { insertActivation, readActivation } from '#core/db/activations.ts'
import type { SearchNodeClient } from '#core/rpc/search-client.ts'
import { activate } from '#jobs/activate/pipeline.ts'
import { projectionIdOf, versionIdOf } from '#jobs/build/ids.ts'
import { reviewVersion } from '#jobs/cli/operator/actions/reviews.ts'
import { silent } from '#test/support/jobs/harness.ts'
import type { JobsHarness } from '#test/support/jobs/harness.ts'
import { withoutGuards } from '#test/support/database.ts'
import { startActivationHarness, request, review, run } from '#test/support/jobs/activation-harness.ts'
import type { ActivationHarness } from '#test/support/jobs/activation-harness.ts'
import { until } from '#test/support/until.ts'
import { CALL_TIMEOUT_MS } from '#test/support/call-timeout.ts'

let activation: ActivationHarness
let harness: JobsHarness
let nodes: readonly SearchNodeClient[]
let knowledgeBaseId: string
let first: string
let second: string
let third: string

beforeAll(async () => {
  activation = await startActivationHarness()
  ;({
    harness,
    nodes,
    knowledgeBaseId,
    builds: [first, second, third],
  } = activation)
})
afterAll(() => activation.close())

interface Shown {
  readonly active: string | null
  readonly previous: string | null
  readonly states: Readonly<Record<string, string>>
  readonly audited: number
}

async function shown(): Promise<Shown> {
  const { rows } = await harness.owner.query<Shown>(
    `select (select version_id from active_versions where knowledge_base_id = $1) as active,
       (select previous_version_id from active_versions where knowledge_base_id = $1) as previous,
       (select jsonb_object_agg(id, state) from corpus_versions where knowledge_base_id = $1) as states,
       (select count(*)::int from audit where action in ('version.activate', 'version.rollback')) as audited`,
    [knowledgeBaseId],
  )
  return rows[0] ?? { active: null, previous: null, states: {}, audited: 0 }
}

/** The tests run in sequence: nothing active, first, second, back to first. */
describe('an activation', () => {
  test('is refused without a review, and says to review first', async () => {
    expect(await run(activation, first, null)).toMatchObject({
      state: 'refused',
      message: expect.stringContaining('review it'),
    })
    expect(await shown()).toMatchObject({ active: null, audited: 0 })
  })

  test('is refused when the newest review rejects', async () => {
    await review(activation, third)
    await review(activation, third, 'rejected')
    expect(await run(activation, third, null)).toMatchObject({
      state: 'refused',
      message: expect.stringContaining('newest review rejects'),
    })
  })

  test('is refused when the evaluation did not pass', async () => {
    await review(activation, first)
    await withoutGuards(harness.owner, 'update corpus_versions set passed = false where id = $1', [versionIdOf(first)])
    expect(await run(activation, first, null)).toMatchObject({
      state: 'refused',
      message: expect.stringContaining('did not pass its evaluation'),
    })
    await withoutGuards(harness.owner, 'update corpus_versions set passed = true where id = $1', [versionIdOf(first)])
  })

  test('is refused when no search node answers', async () => {
    const id = await request(activation, first, null)
    await activate({ database: harness.service, nodes: nodes.slice(1), log: silent }, id)
    expect(await readActivation(harness.owner, id)).toMatchObject({
      state: 'refused',
      message: expect.stringContaining('No search node answers'),
    })
  })

  test('is refused when a live search node cannot load the version', async () => {
    const broken = (
      await harness.owner.query<{ manifest_digest: Buffer }>('select manifest_digest from projections where id = $1', [
        projectionIdOf(first),
      ])
    ).rows[0]?.manifest_digest
    await nodes[0]?.releaseVersion(projectionIdOf(first), CALL_TIMEOUT_MS)
    await harness.owner.query('update projections set manifest_digest = $2 where id = $1', [
      projectionIdOf(first),
      Buffer.alloc(32, 7),
    ])
    expect(await run(activation, first, null)).toMatchObject({
      state: 'refused',
      message: expect.stringContaining('could not be loaded'),
    })
    await harness.owner.query('update projections set manifest_digest = $2 where id = $1', [
      projectionIdOf(first),
      broken,
    ])
    expect((await shown()).active).toBeNull()
  })

  test('that ten runs race for moves the pointer once and writes one audit row', async () => {
    const id = await request(activation, first, null)
    const outcomes = await Promise.all(
      Array.from({ length: 10 }, () => activate({ database: harness.service, nodes, log: silent }, id)),
    )
    expect(outcomes.filter((outcome) => outcome === 'done')).toHaveLength(1)
    expect(await shown()).toMatchObject({
      active: versionIdOf(first),
      previous: null,
      audited: 1,
      states: { [versionIdOf(first)]: 'active', [versionIdOf(second)]: 'candidate' },
    })
    expect(await readActivation(harness.owner, id)).toMatchObject({ state: 'done' })
  })

  test('that is repeated after it was done changes nothing', async () => {
    const before = await shown()
    const { rows } = await harness.owner.query<{ id: string }>("select id from activations where state = 'done'")
    expect(await activate({ database: harness.service, nodes, log: silent }, rows[0]?.id ?? '')).toBe('finished before')
    expect(await shown()).toEqual(before)
  })

  test('is refused when another version than the expected one is active', async () => {
    await review(activation, second)
    expect(await run(activation, second, null)).toMatchObject({
      state: 'refused',
      message: expect.stringContaining('Another version became active'),
    })
    expect(await run(activation, second, third)).toMatchObject({ state: 'refused' })
    expect(await shown()).toMatchObject({ active: versionIdOf(first), states: { [versionIdOf(second)]: 'candidate' } })
  })

  test('of a candidate that was compared with another version than is active needs a reason too', async () => {
    const mark = "update corpus_versions set evaluation = jsonb_set(evaluation, '{comparison}', $2) where id = $1"
    await withoutGuards(harness.owner, mark, [
      versionIdOf(second),
      JSON.stringify({ worse: false, version_id: versionIdOf(third) }),
    ])
    expect(await run(activation, second, first)).toMatchObject({
      state: 'refused',
      message: expect.stringContaining('compared with another one'),
    })
    await withoutGuards(harness.owner, mark, [
      versionIdOf(second),
      JSON.stringify({ worse: true, version_id: versionIdOf(first) }),
    ])
    expect(await run(activation, second, first)).toMatchObject({
      state: 'refused',
      message: expect.stringContaining('worse than the active one'),
    })
  })

  test('of a candidate that is worse than the active version needs a reason, which the audit trail keeps', async () => {
    const mark =
      `update corpus_versions set evaluation = jsonb_set(evaluation, '{comparison}', '{"worse": ` +
      `true}') where id = $1`
    await withoutGuards(harness.owner, mark, [versionIdOf(second)])
    expect(await run(activation, second, first)).toMatchObject({
      state: 'refused',
      message: expect.stringContaining('worse than the active one'),
    })
    expect((await shown()).active).toBe(versionIdOf(first))
    expect(await run(activation, second, first, 'activate', 'The repealed rules had to go.')).toMatchObject({
      state: 'done',
    })
    const { rows } = await harness.owner.query(
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
    expect(await run(activation, first, second)).toMatchObject({
      state: 'refused',
      message: expect.stringContaining('operator rollback'),
    })
    expect(await run(activation, third, second, 'rollback')).toMatchObject({
      state: 'refused',
      message: expect.stringContaining('never active'),
    })
    expect(await run(activation, first, second, 'rollback')).toMatchObject({ state: 'done' })
    expect(await shown()).toMatchObject({ active: versionIdOf(first), previous: versionIdOf(second), audited: 3 })
    const { rows } = await harness.owner.query(
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
    const holder = await harness.owner.connect()
    try {
      // Holds the review back between its decision and its commit.
      await holder.query('begin')
      await holder.query('lock table audit in share row exclusive mode')
      const rejected = reviewVersion(
        { database: harness.owner, actor: 'bob' },
        { version: versionIdOf(second), verdict: 'rejected', reviewer: 'bob', note: 'wrong dates' },
      )
      await waiting(1)
      const rollback = run(activation, second, first, 'rollback')
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
    await insertActivation(harness.owner, {
      id,
      knowledgeBaseId: await harness.createKnowledgeBase(),
      versionId: versionIdOf(second),
      expectedVersionId: null,
      kind: 'activate',
      actor: 'alice',
      overrideReason: null,
    })
    await activate({ database: harness.service, nodes, log: silent }, id)
    expect(await readActivation(harness.owner, id)).toMatchObject({
      state: 'refused',
      message: expect.stringContaining('does not belong'),
    })
  })
})

/** Until so many sessions of this database wait for a lock. */
async function waiting(sessions: number): Promise<void> {
  await until(`${sessions} sessions wait for a lock`, async (seen) => {
    const { rows } = await harness.owner.query<{ count: number }>(
      'select count(*)::int as count from pg_stat_activity where datname = current_database() and ' +
        "wait_event_type = 'Lock'",
    )
    seen(rows)
    return (rows[0]?.count ?? 0) >= sessions
  })
}
