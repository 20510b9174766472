import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createHistoryBase, type HistoryBase } from '#test/support/version-rows.ts'
import { openCorpusHarness } from '#test/support/operator-corpus.ts'
import { createTestKey, firstReviewer, insertSignedReview, makeComparable } from '#test/support/reviews.ts'

const INSTANT = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?Z`

const harness = await openCorpusHarness()
const { cli } = harness
const store = join(harness.folder, 'store')

/** A knowledge base after the activations of these versions, in this order. */
async function createActivated(count: number) {
  const base = await createHistoryBase(harness.owner, store)
  const ids: string[] = []
  for (let n = 0; n < count; n++) ids.push(await activated(base, await base.createVersion()))
  return { base, ids }
}

async function activated(base: HistoryBase, version: string): Promise<string> {
  await base.review(version, 'approved')
  await base.activate(version)
  return version
}

describe('versions history', () => {
  test('shows what was active, newest first, and marks the activation that rollback returns to', async () => {
    const { base, ids } = await createActivated(3)
    const [v2 = '', v4 = '', v3 = ''] = ids
    await base.activate(v4, 'rollback')
    expect(await cli.json('versions history', base.slug)).toMatchObject([
      { sequence: 4, kind: 'rollback', version_id: v4, replaced_version_id: v3, state: 'active', next: false },
      { sequence: 3, kind: 'activate', version_id: v3, replaced_version_id: v4, state: 'left', next: false },
      { sequence: 2, kind: 'activate', version_id: v4, replaced_version_id: v2, state: 'active', next: false },
      { sequence: 1, kind: 'activate', version_id: v2, replaced_version_id: null, actor: 'actor', next: true },
    ])
    const { stdout } = await cli.run('versions history', base.slug)
    expect(stdout).toMatch(/^active from +kind +version +replaced +actor +state +rollback\n/)
    expect(stdout).toMatch(new RegExp(`^${INSTANT}  activate  ${v2} .* on the way back  next$`, 'm'))
    expect(stdout.match(/next$/gm)).toHaveLength(1)
    expect(await cli.json('versions history', base.slug, '--rows', '1')).toMatchObject([{ sequence: 4 }])
  })

  test('of a knowledge base without an activation says what to do', async () => {
    const { base } = await createActivated(0)
    expect(await cli.run('versions history', base.slug)).toMatchObject({
      code: 0,
      stdout: `Nothing was active in "${base.slug}" yet: activate a version with "operator activate".\n`,
    })
  })
})

describe('rollback', () => {
  test('only ever goes further back, past what was never active, and refuses where nothing is left', async () => {
    const base = await createHistoryBase(harness.owner, store)
    const none =
      `"${base.slug}" has no earlier version to return to: build the sources of the version that you want again, ` +
      'and have the candidate reviewed.\n'
    expect(await cli.refused('rollback', base.slug)).toBe(none)
    const [v2, v3, v4, v5] = await Promise.all([1, 2, 3, 4].map(() => base.createVersion()))
    for (const version of [v2, v4, v3]) await activated(base, version ?? '')
    // Approved, and never active.
    await base.review(v5 ?? '', 'approved')
    for (const [from, to] of [
      [v3, v4],
      [v4, v2],
    ]) {
      expect(await cli.json('rollback', base.slug)).toMatchObject({ version_id: to, replaces: from })
      await base.activate(to ?? '', 'rollback')
    }
    expect(await cli.refused('rollback', base.slug)).toBe(none)
    await activated(base, v5 ?? '')
    // What it replaced, not the newer ones that had been rolled back from.
    expect(await cli.json('rollback', base.slug)).toMatchObject({ version_id: v2, replaces: v5 })
    expect(await cli.refused(`rollback ${base.slug} --to ${v3}`)).toContain('The version is not on the way back')
  })

  test('says which version it returns to and when that was active, before it asks', async () => {
    const { base, ids } = await createActivated(2)
    const { code, stderr, stdout } = await cli.run('rollback', base.slug)
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining(`Asked for version ${ids[0]}`) })
    expect(stderr).toMatch(
      new RegExp(`^"${base.slug}" returns to version ${ids[0]}, active from ${INSTANT} to ${INSTANT}\\.\n`),
    )
  })

  test('passes over a version that was rejected since, and says so', async () => {
    const { base, ids } = await createActivated(3)
    await insertSignedReview(harness.owner, ids[1] ?? '', { verdict: 'rejected' })
    const { stderr, stdout } = await cli.run('rollback', base.slug, '--json')
    expect(JSON.parse(stdout)).toMatchObject({ kind: 'rollback', version_id: ids[0], replaces: ids[2] })
    expect(stderr).toContain(`Version ${ids[1]} is passed over, because it was rejected since.\n`)
    expect(await cli.json('versions history', base.slug)).toMatchObject([
      { rejected: false, next: false },
      { rejected: true, state: 'on the way back', next: false },
      { rejected: false, next: true },
    ])
  })

  test('refuses where everything before was rejected, and says to build again; --to is refused too', async () => {
    const { base, ids } = await createActivated(2)
    await insertSignedReview(harness.owner, ids[0] ?? '', { verdict: 'rejected' })
    expect(await cli.refused('rollback', base.slug)).toBe(
      `"${base.slug}" has no earlier version to return to that is not rejected (1 passed over): build the sources ` +
        'of the version that you want again, and have the candidate reviewed.\n',
    )
    expect(await cli.refused(`rollback ${base.slug} --to ${ids[0]}`)).toContain('rejects the version')
  })

  test('with --to goes only along the way back, and names every step that it undoes', async () => {
    const { base, ids } = await createActivated(4)
    const [first = '', second = '', third = '', fourth = ''] = ids
    await makeComparable(harness.owner, third, { predecessor: second, counts: { passages_changed: 3 } })
    await makeComparable(harness.owner, fourth, { predecessor: third, counts: { passages_removed: 7 } })
    const deep = await cli.run(`rollback ${base.slug} --to ${second}`)
    expect(deep.code).toBe(0)
    expect(deep.stderr).toMatch(
      new RegExp(
        `returns to version ${second}, active from ${INSTANT} to ${INSTANT}\\.\n` +
          `Undoes version ${fourth}: .*7 removed.*\nUndoes version ${third}: .*3 changed.*\n`,
      ),
    )
    await base.activate(first, 'rollback')
    expect(await cli.refused(`rollback ${base.slug} --to ${second}`)).toContain(
      'The version is not on the way back, so nobody approved the step',
    )
  })

  test('is not held up by a rejection that nobody signed, and names it; a signed one is passed over', async () => {
    const { base, ids } = await createActivated(3)
    const target = ids[1] ?? ''
    const forger = { ...(await firstReviewer(harness.owner)), key: createTestKey() }
    await insertSignedReview(harness.operator.database, target, { verdict: 'rejected', reviewer: forger })
    const forged = await cli.run('rollback', base.slug, '--json')
    expect(JSON.parse(forged.stdout)).toMatchObject({ version_id: target })
    expect(forged.stderr).toMatch(/^Review [0-9a-f-]{36} is ignored, because its signature does not hold\.\n/)
    expect(await cli.json('rollback', base.slug, '--to', target)).toMatchObject({ version_id: target })
    expect(await cli.json('versions history', base.slug)).toMatchObject([{}, { rejected: false }, {}])
    await insertSignedReview(harness.operator.database, target, { verdict: 'rejected' })
    const signed = await cli.run('rollback', base.slug, '--json')
    expect(JSON.parse(signed.stdout)).toMatchObject({ version_id: ids[0] })
    expect(signed.stderr).toContain(`Version ${target} is passed over, because it was rejected since.\n`)
    expect(await cli.refused(`rollback ${base.slug} --to ${target}`)).toContain(
      'A review rejects the version, which is for good',
    )
  })

  test('refuses where the history does not end with the active version', async () => {
    const { base, ids } = await createActivated(2)
    await harness.owner.query(
      'begin; set local session_replication_role = replica; ' +
        `update active_versions set version_id = '${ids[0]}' where knowledge_base_id = '${base.id}'; commit`,
    )
    expect(await cli.refused('rollback', base.slug)).toMatch(
      /^The history of "base-.*" does not end with its active version: build/,
    )
  })
})
