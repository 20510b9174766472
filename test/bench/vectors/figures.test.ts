import { expect, test } from 'vitest'
import { fillGaussian, streamAt } from '../stream.ts'
import { figuresOf } from './figures.ts'
import { principalDirections } from './principal.ts'

const DIMENSIONS = 48

function normal(rows: number, seed: number): Float32Array<ArrayBuffer> {
  const values = new Float32Array(rows * DIMENSIONS)
  fillGaussian(values, streamAt(seed, 'space', 0))
  return values
}

function unitRows(values: Float32Array<ArrayBuffer>): Float32Array<ArrayBuffer> {
  return values.map((value, at) => {
    const from = at - (at % DIMENSIONS)
    return value / Math.hypot(...values.subarray(from, from + DIMENSIONS))
  })
}

test('principal directions are those of most variance, in order, with their shares', () => {
  const deviations = Array.from({ length: DIMENSIONS }, (_, d) => (d < 3 ? [1, 8, 4][d] : 1) ?? 1)
  const rows = normal(4_000, 1).map((value, at) => 5 + value * (deviations[at % DIMENSIONS] ?? 1))
  const { directions, shares } = principalDirections(rows, DIMENSIONS, 2)
  expect(Math.abs(directions[1] ?? 0)).toBeGreaterThan(0.99)
  expect(Math.abs(directions[DIMENSIONS + 2] ?? 0)).toBeGreaterThan(0.99)
  const whole = deviations.reduce((sum, deviation) => sum + deviation ** 2, 0)
  expect(shares[0]).toBeCloseTo(64 / whole, 1)
  expect(shares[1]).toBeCloseTo(16 / whole, 1)
})

test('figures of clustered vectors differ from those of vectors without structure as they must', () => {
  const loose = unitRows(normal(2_000, 2))
  const centres = normal(20, 3)
  const tight = unitRows(
    normal(2_000, 4).map(
      (value, at) => 0.3 * value + (centres[(Math.floor(at / DIMENSIONS) % 20) * DIMENSIONS + (at % DIMENSIONS)] ?? 0),
    ),
  )
  const questions = (of: Float32Array<ArrayBuffer>): Float32Array<ArrayBuffer> =>
    unitRows(normal(50, 5).map((value, at) => 0.05 * value + (of[at] ?? 0)))
  const [without, clustered] = [loose, tight].map((passages) =>
    figuresOf({ dimensions: DIMENSIONS, passages, questions: questions(passages) }),
  )
  const nearest = 'cosine of a passage with its nearest 1, quantile 0.5'
  const held = 'variance held by 16 directions'
  const projections = 'true ten, 68 candidates by projections of 64'
  for (const name of [nearest, held]) expect(clustered?.get(name)).toBeGreaterThan(without?.get(name) ?? 1)
  expect(without?.has(projections)).toBe(false)
  const graph = 'true ten, graph of connectivity 32, expansion 1024'
  expect(without?.get(graph)).toBeGreaterThan(0.98)
})
