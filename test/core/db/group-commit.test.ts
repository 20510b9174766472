import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'
import { groupCommit } from '#core/db/group-commit.ts'
import { until } from '#test/support/until.ts'

/** Doubles numbers; each run ends when the test releases it. */
function createDoubling(): {
  readonly runs: number[][]
  readonly release: () => void
  readonly run: (items: readonly number[]) => Promise<number[]>
} {
  const runs: number[][] = []
  const gates: (() => void)[] = []
  return {
    runs,
    release: () => gates.shift()?.(),
    run: async (items) => {
      runs.push([...items])
      await new Promise<void>((resolve) => gates.push(resolve))
      return items.map((item) => item * 2)
    },
  }
}

test('runs a lone call at once, by itself', async () => {
  const { runs, release, run } = createDoubling()
  const double = groupCommit(run, { itemsMax: 10, runsMax: 2 })
  const doubled = double(1)
  await until('a run', () => runs.length > 0)
  expect(runs).toEqual([[1]])
  release()
  expect(await doubled).toBe(2)
})

test('batches items that arrive during a run, in order, within the bounds of runs and of items per run', async () => {
  const { runs, release, run } = createDoubling()
  const double = groupCommit(run, { itemsMax: 3, runsMax: 1 })
  const first = double(1)
  await until('a run', () => runs.length > 0)
  const others = [2, 3, 4, 5].map(double)
  await sleep(5)
  expect(runs).toEqual([[1]])
  for (let released = 0; released < 3; released++) {
    await until('a run', () => runs.length > released)
    release()
  }
  expect(await Promise.all([first, ...others])).toEqual([2, 4, 6, 8, 10])
  expect(runs).toEqual([[1], [2, 3, 4], [5]])
})

test('a run waits for as many calls as are wanted, and no longer than the bound for fewer', async () => {
  const { runs, release, run } = createDoubling()
  let wanted = 3
  const collect = { itemsWanted: () => wanted, waitMaxMs: PLATFORM_BOUNDS.hardDeadlineMs }
  const patient = groupCommit(run, { itemsMax: 4, runsMax: 9, collect })
  const patiently = [1, 2].map(patient)
  await sleep(5)
  expect(runs).toEqual([])
  patiently.push(patient(3))
  await until('a run', () => runs.length > 0)
  expect(runs).toEqual([[1, 2, 3]])
  wanted = 100
  patiently.push(...[4, 5, 6, 7].map(patient))
  await until('a run', () => runs.length > 1)
  expect(runs.slice(1)).toEqual([[4, 5, 6, 7]])
  wanted = 1
  patiently.push(patient(8))
  await until('a run', () => runs.length > 2)
  expect(runs.slice(2)).toEqual([[8]])

  const hasty = groupCommit(run, { itemsMax: 4, runsMax: 9, collect: { itemsWanted: () => 3, waitMaxMs: 1 } })
  const hastily = [9, 10].map(hasty)
  await until('a run', () => runs.length > 3)
  expect(runs.slice(3)).toEqual([[9, 10]])
  for (const _ of runs) release()
  expect(await Promise.all([...patiently, ...hastily])).toEqual([2, 4, 6, 8, 10, 12, 14, 16, 18, 20])
})

test('calls that became due during a full set of runs go with the next run', async () => {
  const { runs, release, run } = createDoubling()
  const double = groupCommit(run, { itemsMax: 2, runsMax: 1, collect: { itemsWanted: () => 9, waitMaxMs: 1 } })
  const doubled = [1, 2, 3, 4, 5].map(double)
  for (let released = 0; released < 3; released++) {
    await until('a run', () => runs.length > released)
    release()
  }
  expect(await Promise.all(doubled)).toEqual([2, 4, 6, 8, 10])
  expect(runs).toEqual([[1, 2], [3, 4], [5]])
})

test('fails every item of a run that fails, and goes on with the next run', async () => {
  let runs = 0
  const failFirst = async (items: readonly number[]): Promise<readonly number[]> => {
    if (runs++ === 0) throw new Error('lost')
    return items
  }
  const keep = groupCommit(failFirst, { itemsMax: 2, runsMax: 1 })
  const outcomes = await Promise.allSettled([1, 2, 3].map(keep))
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled'])
})

test('fails every item when a run gives another number of results', async () => {
  const keep = groupCommit(async (items: readonly number[]) => items.slice(1), { itemsMax: 5, runsMax: 1 })
  expect((await Promise.allSettled([1, 2].map(keep))).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
})
