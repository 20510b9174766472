import { expect, test } from 'vitest'
import { wilsonInterval } from '#jobs/evaluation/metrics/resampling.ts'

test.each([
  // Newcombe 1998, table I, method 3.
  [81, 263, 0.2553, 0.3662],
  [15, 148, 0.0624, 0.1605],
  [0, 20, 0, 0.1611],
  [1, 29, 0.0061, 0.1718],
])('the interval of %i of %i is that of Wilson', (count, trials, low, high) => {
  const [from = Number.NaN, to = Number.NaN] = wilsonInterval(count, trials) ?? []
  expect([from, to]).toEqual([expect.closeTo(low, 4), expect.closeTo(high, 4)])
})

test('nothing is said of no trials', () => {
  expect(wilsonInterval(0, 0)).toBeUndefined()
})
