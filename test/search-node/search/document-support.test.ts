import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createDocumentSupport } from '#search-node/search/document-support.ts'
import { fuse } from '#search-node/search/fuse.ts'

const DOCUMENTS = Uint32Array.from([7, 7, 7, 8, 9])

function supported(scores: readonly number[], leading: readonly number[] = [0, 1, 2, 3, 4]): number[] {
  const rows = Uint32Array.from(scores.keys())
  return [...createDocumentSupport(rows, DOCUMENTS, new Set(leading))(Float64Array.from(scores))]
}

describe('the support of a document', () => {
  test('is a tenth of the best other candidate of it, and nothing where there is none', () => {
    const [first, second, third, alone, negative] = supported([0.4, 0.6, 0.1, 0.5, -0.2])
    expect([first, second, third]).toEqual([0.4 + 0.1 * 0.6, 0.6 + 0.1 * 0.4, 0.1 + 0.1 * 0.6])
    expect([alone, negative]).toEqual([0.5, -0.2])
  })

  test('comes from the rows that lead a ranking alone', () => {
    expect(supported([0.4, 0.6, 0.1, 0.5, 0], [0, 2])).toEqual([
      0.4 + 0.1 * 0.1,
      0.6 + 0.1 * 0.4,
      0.1 + 0.1 * 0.4,
      0.5,
      0,
    ])
  })

  test('keeps the order of rows that lead, and of others, and does not depend on the order of the candidates', () => {
    const anyRow = fc.record({
      score: fc.oneof(
        fc.double({ min: -1, max: 1, noNaN: true }),
        fc.integer({ min: -20, max: 20 }).map((n) => n / 20),
      ),
      document: fc.integer({ min: 0, max: 3 }),
      leads: fc.boolean(),
    })
    fc.assert(
      fc.property(fc.array(anyRow, { maxLength: 12 }), (given) => {
        const documents = Uint32Array.from(given, ({ document }) => document)
        const leading = new Set(given.flatMap(({ leads }, row) => (leads ? [row] : [])))
        const scoresOf = (rows: readonly number[]): Map<number, number> => {
          const support = createDocumentSupport(Uint32Array.from(rows), documents, leading)
          const scores = support(Float64Array.from(rows, (row) => given[row]?.score ?? 0))
          return new Map(rows.map((row, at) => [row, scores[at] ?? Number.NaN]))
        }
        const rows = [...given.keys()]
        const scores = scoresOf(rows)
        const swapped = given.flatMap((one, a) =>
          given.filter(
            (other, b) =>
              one.document === other.document &&
              one.leads === other.leads &&
              one.score > other.score &&
              (scores.get(a) ?? 0) < (scores.get(b) ?? Number.NaN),
          ),
        )
        expect(swapped).toEqual([])
        const reversed = scoresOf(rows.toReversed())
        for (const row of rows) expect(reversed.get(row)).toBe(scores.get(row))
      }),
    )
  })

  test('counts in sums of standardised scores alone', () => {
    const rows = Uint32Array.from([0, 3, 4])
    const support = createDocumentSupport(rows, Uint32Array.from([7, 0, 0, 7, 9]), new Set(rows))
    const scores = Float64Array.from([0.5, 0.4, 0.43])
    const second = (
      standardised: boolean,
      fusion: 'weighted' | 'rrf',
      lexical?: Float64Array,
      dense?: Float64Array,
    ) => {
      const given = { rows, lexical, dense, standardised, support }
      const fused = fuse(given, { fusion, denseWeight: 0.5, rrfK: 60 })
      return [...fused.keys()].toSorted((a, b) => (fused[b] ?? 0) - (fused[a] ?? 0))[1]
    }
    expect(second(true, 'weighted', scores, scores)).toBe(1)
    for (const others of [
      second(false, 'weighted', scores, scores),
      second(true, 'rrf', scores, scores),
      second(true, 'weighted', scores),
      second(true, 'weighted', undefined, scores),
    ])
      expect(others).toBe(2)
  })
})
