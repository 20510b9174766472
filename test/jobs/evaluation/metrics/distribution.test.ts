import { expect, test } from 'vitest'
import { scoreDistribution } from '#jobs/evaluation/metrics/decision.ts'

test('observed values are counted in 25 bins, with and without evidence, including both ends of the scale', () => {
  const { sufficient, insufficient } = scoreDistribution([
    { score: 0, sufficient: false },
    { score: 0.039, sufficient: false },
    { score: 0.04, sufficient: false },
    { score: 1, sufficient: true },
    { score: 0.5, sufficient: true },
  ])
  expect(sufficient).toHaveLength(25)
  expect(Object.entries(sufficient).filter(([, count]) => count > 0)).toEqual([
    ['12', 1],
    ['24', 1],
  ])
  expect(insufficient.slice(0, 3)).toEqual([2, 1, 0])
})
