import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createCosineStatistics, meanCosineOf, type CosineStatistics } from '#core/index/vectors/cosine-statistics.ts'
import { createVectorScores } from '#search-node/search/fuse.ts'
import { seededRandom, unit } from '#test/support/passages.ts'

/** Unit vectors with a common direction, as encoders give: their cosines have a high mean and a small deviation. */
function vectors(count: number, dimensions: number, seed: number, common = 2): Float32Array[] {
  const random = seededRandom(seed)
  const shared = Float32Array.from({ length: dimensions }, () => (random() - 0.5) * common)
  return Array.from({ length: count }, () => unit(shared.map((value) => value + random() - 0.5)))
}

function statisticsOf(rows: readonly Float32Array[], queries: readonly Float32Array[]): CosineStatistics {
  const collector = createCosineStatistics(rows.length, rows[0]?.length ?? 0)
  for (const row of rows) collector.add(row)
  return collector.finish(queries)
}

function cosine(a: Float32Array, b: Float32Array): number {
  let dot = 0
  for (const [d, value] of a.entries()) dot += value * (b[d] ?? 0)
  return dot
}

const meanOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length
function deviationOf(values: readonly number[]): number {
  const mean = meanOf(values)
  return Math.sqrt(meanOf(values.map((value) => (value - mean) ** 2)))
}

describe('the statistics of a version', () => {
  test.each([
    ['fewer rows than the sample', 300, 16],
    ['a number of dimensions that is not a multiple of four', 300, 10],
    ['one row', 1, 16],
  ])(
    'are the mean of all vectors and the mean deviation of the queries’ cosines, with %s',
    (_name, count, dimensions) => {
      const rows = vectors(count, dimensions, 5)
      const queries = vectors(20, dimensions, 6)
      const statistics = statisticsOf(rows, queries)
      expect(Buffer.from(statistics.mean, 'base64')).toHaveLength(dimensions * 4)
      const mean = Float32Array.from({ length: dimensions }, (_, d) =>
        meanCosineOf(statistics)(new Float32Array(dimensions).fill(1, d, d + 1)),
      )
      for (const [d, value] of mean.entries()) expect(value).toBeCloseTo(meanOf(rows.map((row) => row[d] ?? 0)), 6)
      const brute = meanOf(queries.map((query) => deviationOf(rows.map((row) => cosine(row, query)))))
      expect(statistics.deviation).toBeCloseTo(Math.max(1e-6, brute), 7)
    },
  )

  test('of many rows come from evenly spaced ones, within a twentieth of the deviation over all', () => {
    const rows = vectors(10_000, 8, 7)
    const queries = vectors(5, 8, 8)
    const brute = meanOf(queries.map((query) => deviationOf(rows.map((row) => cosine(row, query)))))
    expect(statisticsOf(rows, queries).deviation / brute).toBeGreaterThan(0.95)
    expect(statisticsOf(rows, queries).deviation / brute).toBeLessThan(1.05)
  })

  test('are equal for equal vectors, whatever buffers the rows come in', () => {
    const [rows, queries] = [vectors(5_000, 8, 9), vectors(5, 8, 10)]
    const reused = new Float32Array(8)
    const collector = createCosineStatistics(rows.length, 8)
    for (const row of rows) {
      reused.set(row)
      collector.add(reused)
    }
    expect(collector.finish(queries)).toEqual(statisticsOf(rows, queries))
  })

  test('are not measured without queries', () => {
    expect(() => createCosineStatistics(3, 8).finish([])).toThrow(RangeError)
  })
})

describe('scores of vectors', () => {
  test('are the z-scores of a cosine over all passages, 0.04 each', () => {
    const rows = vectors(400, 16, 11)
    const [query = new Float32Array(16)] = vectors(1, 16, 12)
    const cosines = rows.map((row) => cosine(row, query))
    const statistics = statisticsOf(rows, [query])
    const scores = createVectorScores(statistics)(Float64Array.from(cosines), query)
    const [mean, deviation] = [meanOf(cosines), deviationOf(cosines)]
    for (const [at, score] of scores.entries())
      expect(score).toBeCloseTo((0.04 * ((cosines[at] ?? 0) - mean)) / deviation, 4)
  })

  test('are finite where all vectors are equal, or the corpus is one passage', () => {
    const [same = new Float32Array(16), query = new Float32Array(16)] = vectors(2, 16, 13)
    for (const count of [1, 50]) {
      const rows = Array.from({ length: count }, () => same)
      const statistics = statisticsOf(rows, [same, query])
      expect(statistics.deviation).toBeGreaterThan(0)
      const scores = createVectorScores(statistics)(
        Float64Array.from(rows, (row) => cosine(row, query)),
        query,
      )
      expect(scores.every((score) => Math.abs(score) < 0.01)).toBe(true)
      expect(new Set(scores).size).toBe(1)
    }
  })

  test('do not change if a model’s cosines are all scaled and shifted alike', () => {
    const [rows, [query = new Float32Array(8)]] = [vectors(200, 8, 14), vectors(1, 8, 15)]
    fc.assert(
      fc.property(fc.double({ min: 0.05, max: 1, noNaN: true }), (scale) => {
        // One more dimension, in which all vectors agree: a cosine c becomes scale × c + (1 − scale).
        const moved = (vector: Float32Array): Float32Array =>
          Float32Array.of(...vector.map((value) => value * Math.sqrt(scale)), Math.sqrt(1 - scale), 0, 0, 0)
        const before = createVectorScores(statisticsOf(rows, [query]))
        const after = createVectorScores(statisticsOf(rows.map(moved), [moved(query)]))
        const cosines = Float64Array.from(rows, (row) => cosine(row, query))
        const movedCosines = Float64Array.from(rows, (row) => cosine(moved(row), moved(query)))
        const expected = before(cosines, query)
        for (const [at, score] of after(movedCosines, moved(query)).entries())
          expect(score).toBeCloseTo(expected[at] ?? Number.NaN, 3)
      }),
      { numRuns: 25 },
    )
  })
})
