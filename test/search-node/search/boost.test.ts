import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { boostCited, citedOrder } from '#search-node/search/boost.ts'
import { NEARNESS } from '#search-node/search/candidates/source.ts'
import type { Cited } from '#search-node/search/candidates/source.ts'

const candidate = fc.record({
  row: fc.nat({ max: 1_000 }),
  score: fc.double({ min: -1, max: 1, noNaN: true }),
  cited: fc.option(
    fc.record({ reference: fc.nat({ max: 3 }), nearness: fc.constantFrom(...Object.values(NEARNESS)) }),
    { nil: undefined },
  ),
})
const anyCandidates = fc.uniqueArray(candidate, { selector: ({ row }) => row })
const anyLimit = fc.integer({ min: 1, max: 60 })

function citedOf(candidates: readonly { readonly row: number; readonly cited: Cited | undefined }[]) {
  return new Map(candidates.flatMap(({ row, cited }) => (cited === undefined ? [] : [[row, cited] as const])))
}

describe('scores', () => {
  test('rank every cited row above every other row, cited rows in their order and others in theirs', () => {
    fc.assert(
      fc.property(anyCandidates, anyLimit, (candidates, limit) => {
        const cited = citedOf(candidates)
        fc.pre(cited.size > 0)
        const rows = Uint32Array.from(candidates, ({ row }) => row)
        const boosted = boostCited(
          rows,
          Float64Array.from(candidates, ({ score }) => score),
          cited,
          limit,
        )
        expect(boosted.every((score) => score >= 0 && score <= 1)).toBe(true)
        const order = citedOrder(cited, limit)
        const place = (row: number): number => (cited.has(row) ? order.indexOf(row) : order.length)
        const best = candidates
          .map((each, at) => ({ ...each, boosted: boosted[at] ?? Number.NaN }))
          .sort((a, b) => place(a.row) - place(b.row) || b.score - a.score)
        const misplaced = best.slice(1).filter(({ row, boosted: own }, at) => {
          const { row: above = -1, boosted: before = 0 } = best[at] ?? {}
          return (cited.has(row) && !cited.has(above)) || (cited.has(above) ? before <= own : before < own)
        })
        expect(misplaced).toEqual([])
      }),
    )
  })

  test('of a cited row without a word of the query are above those of a row that holds all of it', () => {
    const cited = new Map([[3, { reference: 0, nearness: NEARNESS.around }]])
    const boosted = boostCited(Uint32Array.of(3, 9), Float64Array.of(0, 0.999), cited, 5)
    expect(boosted[0]).toBeGreaterThan(boosted[1] ?? 1)
  })

  test('do not change where nothing is cited', () => {
    const scores = Float64Array.of(-0.5, 0.25)
    expect(boostCited(Uint32Array.of(0, 1), scores, new Map(), 5)).toEqual(scores)
  })
})

describe('the order of cited rows', () => {
  const { itself, within, around } = NEARNESS

  test('of one provision is its own passages and then its parts, each in the order of the document', () => {
    const cited = new Map<number, Cited>([
      [9, { reference: 0, nearness: within }],
      [7, { reference: 0, nearness: itself }],
      [8, { reference: 0, nearness: within }],
      [2, { reference: 0, nearness: itself }],
      [1, { reference: 0, nearness: around }],
    ])
    for (const limit of [1, 3, 5, 50]) expect(citedOrder(cited, limit)).toEqual([2, 7, 8, 9, 1])
  })

  test('of several provisions gives each an equal share of any list, in the order of the question', () => {
    const rows = (reference: number, from: number): [number, Cited][] =>
      Array.from({ length: 10 }, (_, at) => [from + at, { reference, nearness: at === 0 ? itself : within }])
    const two = new Map([...rows(1, 0), ...rows(0, 20)])
    expect(citedOrder(two, 5).slice(0, 5)).toEqual([20, 21, 0, 1, 22])
    expect(citedOrder(two, 2).slice(0, 2)).toEqual([20, 0])
    // A re-ranker asks for fifty candidates, of which a reply shows five.
    expect(
      new Set(
        citedOrder(two, 50)
          .slice(0, 5)
          .map((row) => row < 20),
      ),
    ).toEqual(new Set([true, false]))
    const six = new Map(Array.from({ length: 6 }, (_, reference) => rows(reference, 20 * reference)).flat())
    expect(citedOrder(six, 5).slice(0, 6)).toEqual([0, 20, 40, 60, 80, 100])
  })

  test('holds every cited row once', () => {
    fc.assert(
      fc.property(anyCandidates, anyLimit, (candidates, limit) => {
        const cited = citedOf(candidates)
        expect(citedOrder(cited, limit).toSorted((a, b) => a - b)).toEqual([...cited.keys()].sort((a, b) => a - b))
      }),
    )
  })
})
