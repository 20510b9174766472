import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { defaultProfile } from '#jobs/version-build/parameters.ts'
import { fuse, Z_SCORE_WEIGHT, type Candidates } from '#search-node/search/fuse.ts'

function candidates(lexical: readonly number[] | undefined, dense: readonly number[] | undefined): Candidates {
  const rows = Uint32Array.from({ length: lexical?.length ?? dense?.length ?? 0 }, (_, row) => row)
  const column = (scores: readonly number[] | undefined): Float64Array | undefined =>
    scores === undefined ? undefined : Float64Array.from(scores)
  return { rows, lexical: column(lexical), dense: column(dense) }
}

const share = fc.double({ min: 0, max: 1, noNaN: true })
const anyRow = fc.record({
  lexical: fc.oneof(fc.constant(0), share),
  dense: fc.double({ min: -1, max: 1, noNaN: true }),
})
const columns = (rows: readonly { readonly lexical: number; readonly dense: number }[]): Candidates =>
  candidates(
    rows.map(({ lexical }) => lexical),
    rows.map(({ dense }) => dense),
  )

describe('weighted scores', () => {
  const sumOf = (lexical: number, dense: number, weight: number): number =>
    (1 - weight) * lexical ** 2 + weight * dense * Math.abs(dense)
  const anyScores = fc.record({
    lexical: fc.oneof(fc.constant(0), share),
    // An exact match has a z-score of 1/0.001 with a model whose cosines hardly differ.
    dense: fc.integer({ min: -4_000, max: 4_000 }).map((hundredth) => hundredth / 100),
  })

  test('keep the order of their weighted sums, in (0, 1), however far they lie from the mean', () => {
    fc.assert(
      fc.property(fc.array(anyScores), share, (rows, weight) => {
        const sums = rows.map(({ lexical, dense }) => sumOf(lexical, dense, weight))
        const fused = fuse(columns(rows), weight)
        expect(fused.every((score) => score > 0 && score < 1)).toBe(true)
        const swapped = [...fused].filter((score, a) =>
          fused.some((other, b) => (sums[a] ?? 0) - (sums[b] ?? 0) > 1e-6 && score <= other),
        )
        expect(swapped).toEqual([])
      }),
    )
  })

  test('between the edges are the weighted sums, and alone the scores themselves', () => {
    const [first, second] = fuse(candidates([0.8, 0.4], [0.2, 0.9]), 0.25)
    expect(first).toBeCloseTo(sumOf(0.8, 0.2, 0.25), 12)
    expect(second).toBeCloseTo(sumOf(0.4, 0.9, 0.25), 12)
    expect([...fuse(candidates(undefined, [0.05, 0.5, 0.95]), 0.25)]).toEqual([0.05, 0.5, 0.95])
  })

  test('count like the words at the same score, and little where they are low', () => {
    const alone = (lexical: number, dense: number): number => fuse(candidates([lexical], [dense]), 0.5)[0] ?? Number.NaN
    for (const score of [0.1, 0.2, 0.4]) expect(alone(score, 0)).toBeCloseTo(alone(0, score), 12)
    expect(alone(0, 0.8)).toBeGreaterThan(2 * alone(0, 0.4))
    expect(alone(0.2, 0.2)).toBeLessThan(alone(0.1, 0.3))
  })
})

describe('at the weight of a model', () => {
  const { dense_weight: weight } = defaultProfile({ embedding: 'openai' })
  /** Score of vectors with this z-score. */
  const near = (zScore: number): number => zScore * Z_SCORE_WEIGHT
  const scoreOf = (lexical: number, zScore: number): number =>
    fuse(candidates([lexical], [near(zScore)]), weight)[0] ?? Number.NaN

  test('vectors order a question of which no passage holds more than a tenth', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 2.5, max: 8, noNaN: true }),
        fc.double({ min: 0, max: 0.1, noNaN: true }),
        (far, held) => {
          expect(scoreOf(0, far + 0.5)).toBeGreaterThan(scoreOf(held, far))
        },
      ),
    )
  })

  test('half of the words come before whatever lies near and holds none', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0.5, max: 1, noNaN: true }),
        fc.double({ min: -8, max: 8, noNaN: true }),
        (held, far) => {
          expect(scoreOf(held, 0)).toBeGreaterThan(scoreOf(0, far))
        },
      ),
    )
  })

  test('a question that has no word in the version is ranked as its vector alone is', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.integer({ min: -200, max: 800 }), { minLength: 2 }), (hundredths) => {
        const dense = hundredths.map((hundredth) => near(hundredth / 100))
        const order = (scores: Float64Array): number[] =>
          [...scores.keys()].toSorted((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0))
        const fused = fuse(
          candidates(
            dense.map(() => 0),
            dense,
          ),
          weight,
        )
        expect(order(fused)).toEqual(order(fuse(candidates(undefined, dense), weight)))
      }),
    )
  })
})

describe('fusing', () => {
  test('where words alone rank leaves their scores as they are, in a copy', () => {
    fc.assert(
      fc.property(fc.array(share), share, (scores, weight) => {
        const given = candidates(scores, undefined)
        const fused = fuse(given, weight)
        expect([...fused]).toEqual(scores)
        expect(fused).not.toBe(given.lexical)
      }),
    )
  })

  test('where words and search questions rank adds their scores', () => {
    const given = { ...candidates([0.3, 0.2], undefined), asked: Float64Array.of(0, 0.4) }
    const [first, second] = fuse(given, 0.5)
    expect(first).toBeCloseTo(0.3, 12)
    expect(second).toBeCloseTo(0.6, 12)
  })

  test('of nothing is nothing, and rows that nothing ranked have a score of 0', () => {
    expect(fuse(candidates([], []), 0.5)).toHaveLength(0)
    const unranked = { ...candidates(undefined, undefined), rows: Uint32Array.of(4, 7) }
    expect([...fuse(unranked, 0.5)]).toEqual([0, 0])
  })

  test('does not depend on the order of the candidates', () => {
    fc.assert(
      fc.property(fc.array(anyRow), share, (rows, weight) => {
        expect([...fuse(columns(rows.toReversed()), weight)].toReversed()).toEqual([...fuse(columns(rows), weight)])
      }),
    )
  })

  test('never ranks a row below one that it beats in both', () => {
    fc.assert(
      fc.property(fc.array(anyRow, { minLength: 2 }), share, (rows, weight) => {
        const fused = fuse(columns(rows), weight)
        const overtaken = rows.filter((one, a) =>
          rows.some(
            (other, b) => one.lexical >= other.lexical && one.dense >= other.dense && (fused[a] ?? 0) < (fused[b] ?? 0),
          ),
        )
        expect(overtaken).toEqual([])
      }),
    )
  })
})
