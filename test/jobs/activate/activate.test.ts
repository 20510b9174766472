import { status } from '@grpc/grpc-js'
import { describe, expect, test } from 'vitest'
import { readActivation } from '#core/db/activations.ts'
import { activate } from '#jobs/activate/pipeline.ts'
import { versionIdOf } from '#jobs/version-build/ids.ts'
import { signReview } from '#operator/actions/reviews.ts'
import { withoutGuards } from '#test/support/postgres.ts'
import {
  activateDeps,
  refusal,
  request,
  requestActivation,
  review,
  run,
  startActivationHarness,
} from '#test/support/activations.ts'
import { PLAINTEXT, startFakeNode, openSearchNodeClients } from '#test/support/search-node.ts'
import { firstReviewer, insertSignedReview, makeComparable, requireReviewers } from '#test/support/reviews.ts'
import { until } from '#test/support/until.ts'

const activation = await startActivationHarness()
const {
  harness,
  nodes,
  knowledgeBaseId,
  builds: [first, second, third],
} = activation

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

/** Signs with the key of the first reviewer, as "operator review sign" does. */
async function sign(buildId: string, verdict: 'approved' | 'rejected'): Promise<void> {
  const { key } = await firstReviewer(harness.owner)
  const input = { version: versionIdOf(buildId), verdict, note: 'the law of March', accept: [] }
  await signReview({ database: harness.owner, actor: 'second-operator' }, harness.store, key, input)
}

/** The tests run in sequence: nothing active, first, second, back to first. */
describe('an activation', () => {
  test('is refused without an approval, and says to sign one first', async () => {
    expect(await run(activation, first, null)).toMatchObject(refusal('No active reviewer approves'))
    expect(await shown()).toMatchObject({ active: null, audited: 0 })
  })

  test('is refused when a review rejects, also one before an approval', async () => {
    await review(activation, third, 'rejected')
    await review(activation, third)
    expect(await run(activation, third, null)).toMatchObject(refusal('A review rejects the version, which is for good'))
  })

  test('is refused when the evaluation did not pass', async () => {
    await review(activation, first)
    await withoutGuards(harness.owner, 'update corpus_versions set passed = false where id = $1', [versionIdOf(first)])
    expect(await run(activation, first, null)).toMatchObject(refusal('did not pass its evaluation'))
    await withoutGuards(harness.owner, 'update corpus_versions set passed = true where id = $1', [versionIdOf(first)])
  })

  test('is refused when no search node answers', async () => {
    const id = await request(activation, first, null)
    await activate({ ...activateDeps(activation), nodes: nodes.slice(1) }, id)
    expect(await readActivation(harness.owner, id)).toMatchObject(refusal('No search node answers'))
  })

  test('is refused when a live search node cannot load the version', async () => {
    const node = await startFakeNode((reply) => reply({ code: status.DATA_LOSS, details: 'facets.bin is damaged.' }))
    const damaged = openSearchNodeClients([node.address], PLAINTEXT)
    try {
      const id = await request(activation, first, null)
      await activate({ ...activateDeps(activation), nodes: [...damaged, ...nodes] }, id)
      expect(await readActivation(harness.owner, id)).toMatchObject(
        refusal(/^The version could not be loaded on .*DATA_LOSS: facets\.bin is damaged\./),
      )
    } finally {
      for (const client of damaged) client.close()
      node.stop()
    }
    expect((await shown()).active).toBeNull()
  })

  test('that ten runs race for moves the pointer once and writes one audit row', async () => {
    const id = await request(activation, first, null)
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => activate(activateDeps(activation), id)))
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
    expect(await activate(activateDeps(activation), rows[0]?.id ?? '')).toBe('finished before')
    expect(await shown()).toEqual(before)
  })

  test('is refused when another version than the expected one is active', async () => {
    await review(activation, second)
    for (const expected of [null, third])
      expect(await run(activation, second, expected)).toMatchObject(
        refusal('Another version became active since this was asked for'),
      )
    expect(await shown()).toMatchObject({ active: versionIdOf(first), states: { [versionIdOf(second)]: 'candidate' } })
  })

  type StoredComparison = Readonly<Record<string, unknown>>
  /** Runs with another comparison in the row of the second version, and puts the stored one back. */
  async function withComparison(
    change: (stored: StoredComparison) => unknown,
    check: () => Promise<void>,
  ): Promise<void> {
    const { rows } = await harness.owner.query<{ comparison: StoredComparison }>(
      "select evaluation -> 'comparison' as comparison from corpus_versions where id = $1",
      [versionIdOf(second)],
    )
    const stored = rows[0]?.comparison ?? {}
    const mark = "update corpus_versions set evaluation = jsonb_set(evaluation, '{comparison}', $2) where id = $1"
    await withoutGuards(harness.owner, mark, [versionIdOf(second), JSON.stringify(change(stored))])
    try {
      await check()
    } finally {
      await withoutGuards(harness.owner, mark, [versionIdOf(second), JSON.stringify(stored)])
    }
  }

  test.each<[string, (stored: StoredComparison) => unknown, string]>([
    ['no comparison', () => null, 'not compared with the active one'],
    [
      'a comparison with another version',
      (stored) => ({ ...stored, version_id: versionIdOf(third) }),
      'compared with another one',
    ],
  ])('of a candidate with %s is refused, whatever was approved', async (_case, change, reason) => {
    await review(activation, second)
    await withComparison(change, async () =>
      expect(await run(activation, second, first)).toMatchObject(refusal(reason)),
    )
  })

  test('of a candidate whose stored comparison cannot be read changes nothing', async () => {
    await review(activation, second)
    const before = await shown()
    await withComparison(
      () => ({ version_id: versionIdOf(first) }),
      async () => expect(run(activation, second, first)).rejects.toThrow(/worse_on/),
    )
    expect(await shown()).toEqual(before)
  })

  test('of a candidate that is worse needs approvals that accept it, which the audit trail keeps', async () => {
    const worse = { worse: true, counts: { passages_changed: 1 }, store: harness.store }
    await makeComparable(harness.owner, versionIdOf(second), worse)
    expect(await run(activation, second, first)).toMatchObject(
      refusal('does not accept 1 passage changed beyond the limit 0'),
    )
    expect((await shown()).active).toBe(versionIdOf(first))
    await insertSignedReview(harness.owner, versionIdOf(second))
    expect(await run(activation, second, first)).toMatchObject({ state: 'done' })
    const { rows } = await harness.owner.query<{ detail: unknown }>(
      "select detail from audit where action = 'version.activate' order by seq desc limit 1",
    )
    const { id, name } = await firstReviewer(harness.owner)
    expect(rows[0]?.detail).toMatchObject({
      approved_by: [{ id, name }],
      accepted: [
        { kind: 'passages_changed', count: 1 },
        { kind: 'ranking', count: 1 },
      ],
      changes: '1 → 1 passages, 0 removed, 1 changed',
      changes_sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      first_changes: ['passages_changed: Rule 1'],
    })
  })

  test('retires the predecessor and remembers it', async () => {
    expect(await shown()).toMatchObject({
      active: versionIdOf(second),
      previous: versionIdOf(first),
      audited: 2,
      states: { [versionIdOf(first)]: 'retired', [versionIdOf(second)]: 'active' },
    })
  })

  test('returns to a retired version only as a rollback, with the approvals that the policy asks for', async () => {
    expect(await run(activation, first, second)).toMatchObject(refusal('operator rollback'))
    expect(await run(activation, third, second, 'rollback')).toMatchObject(refusal('never active'))
    const [base] = (await harness.owner.query<{ slug: string }>('select slug from knowledge_bases')).rows
    await requireReviewers(harness.owner, { id: knowledgeBaseId, slug: base?.slug ?? '' }, 1, 1)
    expect(await run(activation, first, second, 'rollback')).toMatchObject(
      refusal('No active reviewer approves the step from the active version to this one'),
    )
    await sign(first, 'approved')
    const { name } = await firstReviewer(harness.owner)
    expect(await run(activation, first, second, 'rollback')).toMatchObject({ state: 'done' })
    expect(await shown()).toMatchObject({ active: versionIdOf(first), previous: versionIdOf(second), audited: 3 })
    const { rows } = await harness.owner.query(
      "select actor, action, subject, detail from audit where action = 'version.rollback'",
    )
    expect(rows).toMatchObject([
      {
        actor: 'first-operator',
        action: 'version.rollback',
        subject: `version:${versionIdOf(first)}`,
        detail: { predecessor: versionIdOf(second), approved_by: [{ name }] },
      },
    ])
  })

  test('waits for a review of the same version that is under way, and is refused if that rejects', async () => {
    // The second version was left; here it lies on the rollback path.
    await withoutGuards(
      harness.owner,
      'update activations a set returns_to = a.sequence - 1 where a.sequence = (select max(n.sequence) from ' +
        'activations n where n.knowledge_base_id = a.knowledge_base_id) and a.version_id = $1',
      [versionIdOf(first)],
    )
    await sign(second, 'approved')
    const holder = await harness.owner.connect()
    try {
      // Holds the review back between its decision and its commit.
      await holder.query('begin')
      await holder.query('lock table audit in share row exclusive mode')
      const rejected = sign(second, 'rejected')
      await waiting(1)
      const rollback = run(activation, second, first, 'rollback')
      await waiting(2)
      await holder.query('commit')
      await rejected
      expect(await rollback).toMatchObject(refusal('A review rejects the version, which is for good'))
    } finally {
      holder.release()
    }
    expect(await shown()).toMatchObject({ active: versionIdOf(first), states: { [versionIdOf(second)]: 'retired' } })
  })

  test('that is done extends the version chain, and no other does', async () => {
    const { rows } = await harness.owner.query(
      'select (select count(*) from version_chain) as signed, count(sequence) as done from activations',
    )
    expect(rows).toEqual([{ signed: '3', done: '3' }])
  })

  test('of a version of another knowledge base is refused', async () => {
    const asked = { versionId: versionIdOf(second), expectedVersionId: null }
    const id = await requestActivation(harness.owner, {
      ...asked,
      knowledgeBaseId: await harness.createKnowledgeBase(),
    })
    await activate(activateDeps(activation), id)
    expect(await readActivation(harness.owner, id)).toMatchObject(refusal('does not belong'))
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
