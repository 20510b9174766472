import { expect, test } from 'vitest'
import { recallAt } from './exact.ts'

const BEST = [
  { row: 7, score: 0.9 },
  { row: 3, score: 0.8 },
  { row: 4, score: 0.8 },
  { row: 1, score: 0.5 },
]

test('recall is the share of the nearest that are found, and equally near passages are equally right', () => {
  const exact = { allowed: 4, nearest: [BEST] }
  expect(recallAt(2, [[7, 3]], exact)).toBe(1)
  expect(recallAt(2, [[7, 4]], exact)).toBe(1)
  expect(recallAt(2, [[7, 1]], exact)).toBe(0.5)
  expect(recallAt(2, [[1, 5, 7]], exact)).toBe(0)
  expect(recallAt(10, [[7, 3, 4]], exact)).toBe(0.75)
  expect(recallAt(10, [[]], { allowed: 0, nearest: [[]] })).toBe(1)
})
