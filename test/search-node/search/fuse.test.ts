import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fuse } from '#search-node/search/fuse.ts'
import type { Candidates, Fusion } from '#search-node/search/fuse.ts'

function candidates(lexical: readonly number[] | undefined, dense: readonly number[] | undefined): Candidates {
  const rows = Uint32Array.from({ length: lexical?.length ?? dense?.length ?? 0 }, (_, row) => row)
  const column = (scores: readonly number[] | undefined): Float64Array | undefined =>
    scores === undefined ? undefined : Float64Array.from(scores)
  return { rows, lexical: column(lexical), dense: column(dense) }
}

const weighted = (weight: number): Fusion => ({ fusion: 'weighted', denseWeight: weight, rrfK: 60 })
const rrf = (weight: number, k: number): Fusion => ({ fusion: 'rrf', denseWeight: weight, rrfK: k })

const share = fc.double({ min: 0, max: 1, noNaN: true })
const anyRow = fc.record({
  lexical: fc.oneof(fc.constant(0), share),
  dense: fc.double({ min: -1, max: 1, noNaN: true }),
})
const anyFusion = fc.record({
  fusion: fc.constantFrom('weighted' as const, 'rrf' as const),
  denseWeight: share,
  rrfK: fc.integer({ min: 1, max: 1_000 }),
})
const columns = (rows: readonly { readonly lexical: number; readonly dense: number }[]): Candidates =>
  candidates(
    rows.map(({ lexical }) => lexical),
    rows.map(({ dense }) => dense),
  )

describe('weighted scores', () => {
  const sumOf = (lexical: number, dense: number, weight: number): number =>
    (1 - weight) * lexical ** 1.5 + weight * Math.sign(dense) * Math.abs(dense) ** 1.5
  const anyScores = fc.record({
    lexical: fc.oneof(fc.constant(0), share),
    // An exact match lies 1/0.001 deviations above the mean of a model whose cosines hardly differ.
    dense: fc.integer({ min: -4_000, max: 4_000 }).map((hundredth) => hundredth / 100),
  })

  test('keep the order of their weighted sums, in (0, 1), however far they lie from the mean', () => {
    fc.assert(
      fc.property(fc.array(anyScores), share, (rows, weight) => {
        const sums = rows.map(({ lexical, dense }) => sumOf(lexical, dense, weight))
        const fused = fuse(columns(rows), weighted(weight))
        expect(fused.every((score) => score > 0 && score < 1)).toBe(true)
        const swapped = [...fused].filter((score, a) =>
          fused.some((other, b) => (sums[a] ?? 0) - (sums[b] ?? 0) > 1e-6 && score <= other),
        )
        expect(swapped).toEqual([])
      }),
    )
  })

  test('between the edges are the weighted sums, and alone the scores themselves', () => {
    const [first, second] = fuse(candidates([0.8, 0.4], [0.2, 0.9]), weighted(0.25))
    expect(first).toBeCloseTo(sumOf(0.8, 0.2, 0.25), 12)
    expect(second).toBeCloseTo(sumOf(0.4, 0.9, 0.25), 12)
    expect([...fuse(candidates(undefined, [0.05, 0.5, 0.95]), weighted(0.25))]).toEqual([0.05, 0.5, 0.95])
  })

  test('count like the words at the same score, and little where they are low', () => {
    const alone = (lexical: number, dense: number): number =>
      fuse(candidates([lexical], [dense]), weighted(0.5))[0] ?? Number.NaN
    for (const score of [0.1, 0.2, 0.4]) expect(alone(score, 0)).toBeCloseTo(alone(0, score), 12)
    expect(alone(0, 0.8)).toBeGreaterThan(2 * alone(0, 0.4))
    expect(alone(0.2, 0.2)).toBeLessThan(alone(0.1, 0.3))
  })
})

describe('reciprocal ranks', () => {
  test('give 1 to what is first in both, and (k + 1) / (k + rank) of its share for each rank further back', () => {
    // k = 4: ranks 1, 2, 3 count 1, 5/6 and 5/7.
    const fused = fuse(candidates([0.9, 0.5, 0.1], [0.3, -0.2, 0.8]), rrf(0.5, 4))
    expect(fused[0]).toBeCloseTo(0.5 + 0.5 * (5 / 6), 12)
    expect(fused[1]).toBeCloseTo(0.5 * (5 / 6) + 0.5 * (5 / 7), 12)
    expect(fused[2]).toBeCloseTo(0.5 * (5 / 7) + 0.5, 12)
    expect([...fuse(candidates([0.9], [0.3]), rrf(0.3, 60))]).toEqual([1])
  })

  test('give equal scores the best of their ranks, and the next score the place that it has', () => {
    const [first, second, third] = fuse(candidates([0.5, 0.5, 0.2], [0.1, 0.1, 0.1]), rrf(0, 1))
    expect([first, second, third]).toEqual([1, 1, 2 / 4])
  })

  test('give nothing for words that a row does not share with the query', () => {
    expect([...fuse(candidates([0, 0.1], [0.5, 0.4]), rrf(0, 60))]).toEqual([0, 1])
  })

  test('lie in [0, 1]', () => {
    fc.assert(
      fc.property(fc.array(anyRow), share, fc.integer({ min: 1, max: 1_000 }), (rows, weight, k) => {
        for (const score of fuse(columns(rows), rrf(weight, k))) {
          expect(score).toBeGreaterThanOrEqual(0)
          expect(score).toBeLessThanOrEqual(1)
        }
      }),
    )
  })
})

describe('fusing', () => {
  test('where words alone rank leaves their scores as they are, in a copy', () => {
    fc.assert(
      fc.property(fc.array(share), anyFusion, (scores, fusion) => {
        const given = candidates(scores, undefined)
        const fused = fuse(given, fusion)
        expect([...fused]).toEqual(scores)
        expect(fused).not.toBe(given.lexical)
      }),
    )
  })

  test('of nothing is nothing, and rows that nothing ranked have a score of 0', () => {
    expect(fuse(candidates([], []), rrf(0.5, 60))).toHaveLength(0)
    const unranked = { ...candidates(undefined, undefined), rows: Uint32Array.of(4, 7) }
    expect([...fuse(unranked, weighted(0.5))]).toEqual([0, 0])
  })

  test('does not depend on the order of the candidates', () => {
    fc.assert(
      fc.property(fc.array(anyRow), anyFusion, (rows, fusion) => {
        expect([...fuse(columns(rows.toReversed()), fusion)].toReversed()).toEqual([...fuse(columns(rows), fusion)])
      }),
    )
  })

  test('never ranks a row below one that it beats in both', () => {
    fc.assert(
      fc.property(fc.array(anyRow, { minLength: 2 }), anyFusion, (rows, fusion) => {
        const fused = fuse(columns(rows), fusion)
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
