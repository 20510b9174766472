import { describe, expect, test } from 'vitest'
import { finishActivation, movePointer, readActivation, setVersionState } from '#core/db/activations.ts'
import { inTransaction } from '#core/db/pool.ts'
import { planRollback, requestActivation } from '#operator/actions/activations.ts'
import { signReview } from '#operator/actions/reviews.ts'
import type { AcceptableKind } from '#core/domain/review-statements.ts'
import { spaceOf } from '#test/support/artifact.ts'
import { commandLine } from '#test/support/operator-cli.ts'
import { withoutGuards } from '#test/support/postgres.ts'
import { candidate, idsOf, jobIn, openCorpusHarness, rowEventually, withId } from '#test/support/operator-corpus.ts'
import { firstReviewer } from '#test/support/reviews.ts'

const harness = await openCorpusHarness()
const { cli } = harness

/** Replaces the job worker. */
async function finish(id: string): Promise<void> {
  const asked = await readActivation(harness.owner, id)
  if (asked === undefined) throw new Error('nothing was asked for')
  const { version_id: version, expected_version_id: before } = asked
  await inTransaction(harness.owner, async (client) => {
    await movePointer(client, asked)
    await setVersionState(client, version, 'candidate', 'active')
    if (before !== null) await setVersionState(client, before, 'active', 'retired')
    await finishActivation(client, id, 'done', 'Active, loaded on 2 search node(s).')
  })
}

async function decide(
  version: string,
  verdict: 'approved' | 'rejected' = 'approved',
  accept: readonly AcceptableKind[] = [],
): Promise<void> {
  const { key } = await firstReviewer(harness.owner)
  await signReview(harness.operator, harness.store, key, { version, verdict, note: 'read all misses', accept })
}

describe('review, activation and rollback', () => {
  const enqueue = (): Promise<void> => Promise.resolve()

  test('a candidate is activated only after its review, and --wait ends when the worker is done', async () => {
    const first = await candidate(harness, 'first.md')
    await expect(requestActivation(harness.operator, { version: first }, enqueue)).rejects.toThrow(
      'No active reviewer approves the step from the active version to this one: sign it with "operator review sign ' +
        `${first} --key FILE --verdict approved --note TEXT".`,
    )
    // The slug names the only candidate.
    expect(await cli.json('review show rules')).toMatchObject({
      id: first,
      built_by: 'tester',
      standing: expect.stringMatching(/^Approvals needed: 1\. No active reviewer approves .*review sign/),
    })
    await decide(first)
    expect(await cli.json('review show', first)).toMatchObject({
      state: 'candidate',
      standing: `Approvals needed: 1. "first reviewer" approved. Next: operator activate ${first} --wait`,
      report: harness.store.reportFile(first),
      evaluation: { systems: { hybrid: { 'recall@5': 0.97 } } },
      reviews: [{ verdict: 'approved', reviewer: 'first reviewer' }],
    })

    const known = await idsOf(harness, 'activations')
    const following = cli.run('activate', first, '--wait', '--json')
    const asked = await rowEventually(harness, 'activations', known)
    await finish(asked)
    const { code, stdout } = await following
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      id: asked,
      state: 'done',
      kind: 'activate',
      version_id: first,
      replaces: null,
    })
    expect(await jobIn(harness, 'activate', asked)).toEqual({ id: asked })
  })

  test('an activation names the version it replaces, a rollback returns to it, and the trail tells both', async () => {
    const { rows } = await harness.owner.query<{ version_id: string }>('select version_id from active_versions')
    const first = rows[0]?.version_id ?? ''
    const second = await candidate(harness, 'second.md')
    await decide(second)
    const activation = await requestActivation(harness.operator, { version: second }, enqueue)
    expect(activation.replaces).toBe(first)
    const late = await candidate(harness, 'late.md')
    await finish(activation.id)
    await candidate(harness, 'later.md')
    expect(await cli.refused('review show rules')).toContain('"rules" has several candidates: name one by its id')
    expect(await cli.json('review show', late)).toMatchObject({
      standing: expect.stringMatching(
        `^stale: build again\\. It was compared with ${first}, and ${second} is active now`,
      ),
    })
    await expect(decide(second, 'rejected')).rejects.toThrow(
      'The version is active: return to the one before with "operator rollback rules", then reject it.',
    )
    await expect(requestActivation(harness.operator, { version: first }, enqueue)).rejects.toThrow(
      'The version was active before and is retired: use "operator rollback" to return to it.',
    )
    await expect(planRollback(harness.operator, 'rules', await candidate(harness, 'third.md'))).rejects.toThrow(
      /was never active, so there is nothing to roll back to/,
    )

    expect(await cli.json('rollback', 'rules')).toMatchObject({
      kind: 'rollback',
      version_id: first,
      replaces: second,
      state: 'queued',
    })
    const trail = await harness.owner.query<{ action: string }>(
      "select action from audit where action like 'version.request-%' order by seq",
    )
    expect(trail.rows.map(({ action }) => action)).toEqual([
      'version.request-activate',
      'version.request-activate',
      'version.request-rollback',
    ])
  })

  test('when Redis does not take the job, the row stands and the sentence says not to ask again', async () => {
    const version = await candidate(harness, 'unheard.md')
    await decide(version)
    await expect(
      requestActivation(harness.operator, { version }, () => Promise.reject(new Error('connection lost'))),
    ).rejects.toThrow(/^It is recorded as [0-9a-f-]{36}, but Redis did not take its job: do not ask again/)
    expect(
      (await harness.owner.query("select 1 from activations where version_id = $1 and state = 'queued'", [version]))
        .rowCount,
    ).toBe(1)
  })

  test('a candidate that failed its evaluation cannot be approved, and a rejected one never activated', async () => {
    const failed = await candidate(harness, 'poor.md', false)
    await expect(decide(failed)).rejects.toThrow(/did not pass its evaluation/)
    await decide(failed, 'rejected')
    expect(await cli.refused('activate', failed)).toBe(
      'The version was rejected in review: build another candidate from corrected sources.\n',
    )
    expect(await cli.json('versions list --knowledge-base rules')).toContainEqual(
      expect.objectContaining({ id: failed, state: 'rejected', verdict: 'rejected' }),
    )
  })

  test('a candidate that is worse than the active version is approved only by accepting that', async () => {
    const worse = await candidate(harness, 'worse.md', true, true)
    await expect(decide(worse)).rejects.toThrow(
      'The version goes beyond the limits of the knowledge base: reject it, or add --accept ranking: a ranking that ' +
        'is worse on 1 metric.',
    )
    await expect(decide(worse, 'approved', ['ranking', 'passages_removed'])).rejects.toThrow(
      'Nothing of the kind passages_removed is to be accepted: leave it out of --accept.',
    )
    expect(await cli.refused('activate', worse)).toMatch(/^No active reviewer approves/)
    await decide(worse, 'approved', ['ranking'])
    const activated = await cli.run('activate', worse, '--json')
    expect(activated.stderr).toBe(
      '1 → 1 passages, 0 removed, 0 changed\nApproved by "first reviewer", who accepted ranking (1).\n',
    )
    const asked = withId.parse(JSON.parse(activated.stdout))
    expect(await jobIn(harness, 'activate', asked.id)).toEqual({ id: asked.id })
  })

  test("--wait ends with 1 and the worker's reason when an activation is refused", async () => {
    const version = await candidate(harness, 'refused.md')
    await decide(version)
    const known = await idsOf(harness, 'activations')
    const following = cli.refused('activate', version, '--wait')
    const message = 'No search node answers: start one of SEARCH_NODES, then activate again.'
    await harness.owner.query("update activations set state = 'refused', message = $2 where id = $1", [
      await rowEventually(harness, 'activations', known),
      message,
    ])
    expect(await following).toContain(`Refused: ${message}`)
  })

  test.each([
    ['an unknown version', 'activate', '6f1c2a0e-7a38-4f4e-9c7e-0d6f6a2b9a11', 'version', 'versions list'],
    ['a version that is no UUID', 'versions show', 'newest', 'version', 'versions list'],
    ['an unknown import', 'build start --import', 'newest', 'import', 'imports list'],
    ['an unknown build', 'build show', 'newest', 'build', 'build list'],
  ])('%s is refused in a sentence', async (_what, command, name, noun, see) => {
    expect(await cli.refused(command, name)).toBe(`There is no ${noun} "${name}": see "operator ${see}".\n`)
  })
})

test('a version of the embedder of an earlier release is not activated, and migrate names those that are active', async () => {
  const sentence = 'The version was built with the local embedder, which this release lacks: build it again with'
  const local = await candidate(harness, 'local.md')
  await decide(local)
  const space = JSON.stringify(spaceOf(8, { provider: 'local' }))
  await withoutGuards(harness.owner, 'update corpus_versions set embedding = $2 where id = $1', [local, space])
  expect(await cli.refused('activate', local)).toContain(sentence)
  const migration = commandLine({ DATABASE_URL: harness.urls.migrationUrl })
  expect(await migration.json('migrate')).toMatchObject({ build_again: [] })
  await withoutGuards(harness.owner, 'update active_versions set version_id = $1', [local])
  expect(await migration.json('migrate')).toMatchObject({
    build_again: [{ knowledge_base: 'rules', version_id: local }],
  })
  expect((await migration.run('migrate')).stderr).toContain(`rules, ${local}: ${sentence}`)
})
