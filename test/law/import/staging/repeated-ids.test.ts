import { expect, test } from 'vitest'
import { importLines, line } from '#test/support/import.ts'

const GROWTH = 4
/** Linear cost grows by 4, quadratic by 16. */
const RATIO_MAX = 8
const ATTEMPTS = 3

/** The publisher uses the numbers that the import would give, and then repeats the id. */
function records(count: number): string {
  const numbered = Array.from({ length: count }, (_, n) => line(`a~${n + 2}`, `Rule ${n}.`, { section: `n${n}` }))
  const repeated = Array.from({ length: count }, (_, n) => line('a', `Law ${n}.`, { section: `r${n}` }))
  return [...numbered, ...repeated].join('\n')
}

/** Time of this thread on a processor, in milliseconds; the shortest of some runs. */
async function costMs(count: number): Promise<number> {
  const corpus = records(count)
  let bestMs = Infinity
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const before = process.threadCpuUsage()
    const { passages } = await importLines(corpus)
    const { user, system } = process.threadCpuUsage(before)
    expect(new Set(passages.map(({ source_id }) => source_id)).size).toBe(2 * count)
    bestMs = Math.min(bestMs, (user + system) / 1_000)
  }
  return bestMs
}

test('an id that comes again costs in proportion to its records, whatever numbers the publisher uses', async () => {
  const shortMs = await costMs(225)
  expect(await costMs(225 * GROWTH)).toBeLessThan(RATIO_MAX * shortMs)
})
