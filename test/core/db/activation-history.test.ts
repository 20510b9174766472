import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { finishActivation } from '#core/db/activations.ts'
import { listHistory, readRollbackPath, readRollbackPathTo } from '#core/db/activation-history.ts'
import { inTransaction } from '#core/db/pool.ts'
import { versionsToServe } from '#core/db/versions.ts'
import { openTestPools } from '#test/support/postgres.ts'
import { createHistoryBase, type HistoryBase } from '#test/support/version-rows.ts'

const ROWS = 1_000

const { owner, jobs } = await openTestPools()

async function createVersions(base: HistoryBase, count: number): Promise<readonly string[]> {
  const versions: string[] = []
  for (let n = 0; n < count; n++) versions.push(await base.createVersion())
  return versions
}

/** Versions by their numbers of a test, from the active one back, each where the rollback before it led. */
async function rollbacksFrom(base: HistoryBase, versions: readonly string[]): Promise<readonly number[]> {
  const path: number[] = []
  for (;;) {
    const { target } = await readRollbackPath(jobs, base.id)
    if (target === undefined) return path
    path.push(versions.indexOf(target.version_id))
    await base.activate(target.version_id, 'rollback')
  }
}

describe('the way back', () => {
  test('passes over what was rejected since, and search nodes keep what a rollback returns to', async () => {
    const base = await createHistoryBase(owner)
    const versions = await createVersions(base, 4)
    for (const version of versions) {
      await base.review(version, 'approved')
      await base.activate(version)
    }
    await base.review(versions[1] ?? '', 'rejected')
    await base.review(versions[2] ?? '', 'rejected')
    const way = await readRollbackPath(jobs, base.id, ({ claimed }) => Promise.resolve(claimed))
    expect(way.active?.version_id).toBe(versions[3])
    expect(way.passedOver.map((step) => step.version_id)).toEqual([versions[2], versions[1]])
    expect(way.target?.version_id).toBe(versions[0])
    expect(await wantedOf(base)).toEqual(new Set([versions[0], versions[3]]))
  })

  test('decides what search nodes keep: after a rollback the version that was left is not kept', async () => {
    const base = await createHistoryBase(owner)
    const versions = await createVersions(base, 3)
    for (const version of versions) await base.activate(version)
    await base.activate(versions[1] ?? '', 'rollback')
    expect(await wantedOf(base)).toEqual(new Set([versions[0], versions[1]]))
  })

  test('tells when a version was active, by the moments at which the pointer moved', async () => {
    const base = await createHistoryBase(owner)
    const [first = '', second = ''] = await createVersions(base, 2)
    await base.activate(first)
    await base.activate(second)
    const { active, target } = await readRollbackPath(jobs, base.id)
    expect(target?.active_until).toEqual(active?.active_from)
    expect(active?.active_until).toBeNull()
    expect(await readRollbackPathTo(jobs, base.id, first)).toEqual([active, target])
    expect(await readRollbackPathTo(jobs, base.id, randomUUID())).toBeUndefined()
  })

  test('is a stack, for any sequence of activations and rollbacks, and the history tells the same', async () => {
    const versions = 5
    const moves = fc.array(fc.nat({ max: versions - 1 }), { minLength: 1, maxLength: 14 })
    await fc.assert(
      fc.asyncProperty(moves, async (numbers) => {
        const base = await createHistoryBase(owner)
        const ids = await createVersions(base, versions)
        let stack: readonly number[] = []
        for (const number of numbers.filter((value, index) => value !== numbers[index - 1])) {
          await base.activate(ids[number] ?? '')
          stack = stack.includes(number) ? stack.slice(0, stack.indexOf(number) + 1) : [...stack, number]
          expect((await readRollbackPath(jobs, base.id)).target?.version_id).toBe(ids[stack.at(-2) ?? -1])
        }
        const history = await listHistory(owner, base.id, ROWS)
        for (const { version_id, state } of history) {
          const place = stack.indexOf(ids.indexOf(version_id))
          expect(state).toBe(place < 0 ? 'left' : place === stack.length - 1 ? 'active' : 'on the way back')
        }
        for (const limit of [1, 2, 5]) expect(await listHistory(owner, base.id, limit)).toEqual(history.slice(0, limit))
        expect(await rollbacksFrom(base, ids)).toEqual(stack.slice(0, -1).toReversed())
      }),
      { numRuns: 25 },
    )
  })
})

describe('an activation', () => {
  test('that is done stays as it is, and is done only when the pointer names its version', async () => {
    const base = await createHistoryBase(owner)
    const [first = '', second = ''] = await createVersions(base, 2)
    await base.activate(first)
    const id = randomUUID()
    await owner.query(
      'insert into activations (id, knowledge_base_id, version_id, expected_version_id, kind, actor) ' +
        "values ($1, $2, $3, $4, 'activate', 'actor')",
      [id, base.id, second, first],
    )
    await expect(finishActivation(jobs, id, 'done', '')).rejects.toThrow(
      'an activation is done only when its version is the active one',
    )
    for (const change of ["state = 'queued'", "state = 'refused'"])
      await expect(
        jobs.query(`update activations set ${change} where knowledge_base_id = $1 and state = 'done'`, [base.id]),
      ).rejects.toThrow('an activation that is done stays as it is')
    for (const column of ['sequence', 'returns_to'])
      await expect(jobs.query(`update activations set ${column} = 1`)).rejects.toThrow('permission denied')
  })

  test('is placed and dated by the move of the pointer, not by the start of its transaction', async () => {
    const base = await createHistoryBase(owner)
    const [first = '', second = '', third = ''] = await createVersions(base, 3)
    await inTransaction(owner, async (early) => {
      await early.query('select now()')
      await base.activate(first)
      await base.activate(second)
      await base.activateIn(early, third)
    })
    const { active, target } = await readRollbackPath(jobs, base.id)
    expect([active?.version_id, target?.version_id]).toEqual([third, second])
    const { rows } = await owner.query<{ moved: Date }>(
      'select activated_at as moved from active_versions where knowledge_base_id = $1',
      [base.id],
    )
    for (const moved of [active?.active_from, rows[0]?.moved])
      expect(moved?.getTime()).toBeGreaterThanOrEqual(target?.active_from.getTime() ?? Infinity)
  })
})

/** Versions of a knowledge base that every search node should hold. */
async function wantedOf(base: HistoryBase): Promise<ReadonlySet<string>> {
  const wanted = (await versionsToServe(jobs)).map(({ versionId }) => versionId)
  const { rows } = await owner.query<{ id: string }>(
    'select id from corpus_versions where id = any ($1) and knowledge_base_id = $2',
    [wanted, base.id],
  )
  return new Set(rows.map(({ id }) => id))
}
