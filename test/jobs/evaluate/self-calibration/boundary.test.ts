import { describe, expect, test } from 'vitest'
import { mulberry32 } from '#core/platform/seeded-random.ts'
import { boundaryOf } from '#jobs/evaluate/self-calibration/boundary.ts'

/** Mean log loss of both samples, alike in weight, for a logistic model with slope 1 at a boundary. */
function lossAt(boundary: number, above: readonly number[], below: readonly number[]): number {
  const mean = (losses: readonly number[]): number => losses.reduce((sum, loss) => sum + loss, 0) / losses.length
  return (
    mean(above.map((value) => Math.log1p(Math.exp(boundary - value)))) +
    mean(below.map((value) => Math.log1p(Math.exp(value - boundary))))
  )
}

/** The boundary with the least loss on a grid, which is refined around its best point. */
function bestByGrid(above: readonly number[], below: readonly number[]): number {
  let [best, step] = [0, 0.5]
  for (let round = 0; round < 5; round++) {
    const around = best
    const reach = round === 0 ? 32 : 10
    const grid = Array.from({ length: 2 * reach + 1 }, (_, at) => around + (at - reach) * step)
    best = grid.reduce((low, at) => (lossAt(at, above, below) < lossAt(low, above, below) ? at : low), around)
    step /= 10
  }
  return best
}

describe('the boundary between two samples', () => {
  test.each(Array.from({ length: 20 }, (_, seed) => seed))(
    'has the least logistic loss of any boundary, with both samples alike in weight: seed %i',
    (seed) => {
      const random = mulberry32(seed)
      const sample = (mean: number): readonly number[] =>
        Array.from({ length: 1 + Math.floor(random() * 40) }, () => mean + 6 * (random() - 0.5))
      const [above, below] = [sample(4 * random() - 1), sample(4 * random() - 3)]
      expect(boundaryOf(above, below)).toBeCloseTo(bestByGrid(above, below), 3)
    },
  )

  test('lies midway between two values, and does not depend on how often a value occurs', () => {
    expect(boundaryOf([3], [-1])).toBeCloseTo(1, 8)
    expect(boundaryOf([3, 3, 3, 3], [-1])).toBeCloseTo(1, 8)
  })

  test('moves with the values', () => {
    const [above, below] = [
      [2, 0.5, 4],
      [-1, 1.5],
    ]
    const moved = boundaryOf(
      above.map((value) => value + 2.5),
      below.map((value) => value + 2.5),
    )
    expect(moved).toBeCloseTo(boundaryOf(above, below) + 2.5, 8)
  })

  test('is finite where probabilities are 0 or 1', () => {
    expect(boundaryOf([Infinity, 2], [-Infinity, 0])).toBeCloseTo(1, 8)
    expect(Math.abs(boundaryOf([Infinity], [Infinity]))).toBeLessThanOrEqual(16)
  })
})
