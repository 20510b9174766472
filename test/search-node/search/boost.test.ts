import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { boostNamed, namedOrder } from '#search-node/search/named-provision.ts'
import { NEARNESS, type NamedBy } from '#search-node/search/interfaces.ts'

const candidate = fc.record({
  row: fc.nat({ max: 1_000 }),
  score: fc.double({ min: -1, max: 1, noNaN: true }),
  named: fc.option(
    fc.record({
      reference: fc.nat({ max: 3 }),
      nearness: fc.constantFrom(...Object.values(NEARNESS)),
      withoutAct: fc.boolean(),
    }),
    { nil: undefined },
  ),
})
const anyCandidates = fc.uniqueArray(candidate, { selector: ({ row }) => row })
const anyRelevance = fc.func<[number], number>(fc.double({ min: 0, max: 9, noNaN: true }))
const alike = (): number => 0
const anyLimit = fc.integer({ min: 1, max: 60 })

function citedOf(candidates: readonly { readonly row: number; readonly named: NamedBy | undefined }[]) {
  return new Map(candidates.flatMap(({ row, named }) => (named === undefined ? [] : [[row, named] as const])))
}

describe('scores', () => {
  test('rank every named row above every other row, named rows in their order and others in theirs', () => {
    fc.assert(
      fc.property(anyCandidates, anyRelevance, anyLimit, (candidates, relevance, limit) => {
        const named = citedOf(candidates)
        fc.pre(named.size > 0)
        const rows = Uint32Array.from(candidates, ({ row }) => row)
        const order = namedOrder(named, relevance, limit)
        const boosted = boostNamed(
          rows,
          Float64Array.from(candidates, ({ score }) => score),
          order,
        )
        expect(boosted.every((score) => score >= 0 && score <= 1)).toBe(true)
        const rank = (row: number): number => (named.has(row) ? order.indexOf(row) : order.length)
        const best = candidates
          .map((each, at) => ({ ...each, boosted: boosted[at] ?? Number.NaN }))
          .sort((a, b) => rank(a.row) - rank(b.row) || b.score - a.score)
        const misplaced = best.slice(1).filter(({ row, boosted: own }, at) => {
          const { row: above = -1, boosted: before = 0 } = best[at] ?? {}
          return (named.has(row) && !named.has(above)) || (named.has(above) ? before <= own : before < own)
        })
        expect(misplaced).toEqual([])
      }),
    )
  })

  test('of a named row without a word of the query are above those of a row that holds all of it', () => {
    const boosted = boostNamed(Uint32Array.of(3, 9), Float64Array.of(0, 0.999), [3])
    expect(boosted[0]).toBeGreaterThan(boosted[1] ?? 1)
  })

  test('do not change where nothing is named', () => {
    const scores = Float64Array.of(-0.5, 0.25)
    expect(boostNamed(Uint32Array.of(0, 1), scores, [])).toEqual(scores)
  })
})

describe('the order of named rows', () => {
  const { exact, part, enclosing } = NEARNESS
  const of = (reference: number, nearness: NamedBy['nearness']): NamedBy => ({ reference, nearness, withoutAct: false })
  /** Ten passages: the provision's opening and nine parts. */
  const provision = (reference: number, from: number): [number, NamedBy][] =>
    Array.from({ length: 10 }, (_, at) => [from + at, of(reference, at === 0 ? exact : part)])
  const holding =
    (...rows: readonly number[]) =>
    (row: number): number =>
      rows.includes(row) ? 1 : 0

  test('of one provision is its own passages and then its parts, each in the order of the document', () => {
    const named = new Map<number, NamedBy>([
      [9, of(0, part)],
      [7, of(0, exact)],
      [8, of(0, part)],
      [2, of(0, exact)],
      [1, of(0, enclosing)],
    ])
    for (const limit of [1, 3, 5, 50]) expect(namedOrder(named, alike, limit)).toEqual([2, 7, 8, 9, 1])
  })

  test('begins with the opening and the most relevant passages, in the order of the document', () => {
    const named = new Map(provision(0, 20))
    expect(namedOrder(named, holding(29, 27), 5)).toEqual([20, 21, 22, 27, 29, 23, 24, 25, 26, 28])
    expect(namedOrder(named, holding(29, 27), 2).slice(0, 2)).toEqual([20, 27])
    expect(namedOrder(named, (row) => row, 3).slice(0, 3)).toEqual([20, 28, 29])
    expect(namedOrder(named, holding(29, 27), 1)[0]).toBe(20)
    for (const limit of [10, 50]) expect(namedOrder(named, (row) => row, limit)).toEqual([...named.keys()])
  })

  test('gives a place among the first to every passage that is more relevant than one shown', () => {
    fc.assert(
      fc.property(anyRelevance, fc.integer({ min: 1, max: 10 }), (relevance, limit) => {
        const order = namedOrder(new Map(provision(0, 20)), relevance, limit)
        const [shown, hidden] = [order.slice(0, limit), order.slice(limit)]
        expect(shown[0]).toBe(20)
        expect(shown).toEqual(shown.toSorted((a, b) => a - b))
        const least = Math.min(...shown.slice(1).map((row) => relevance(row)))
        for (const row of limit === 1 ? [] : hidden) expect(relevance(row)).toBeLessThanOrEqual(least)
      }),
    )
  })

  test('of several provisions gives each an equal share of any list, in the order of the question', () => {
    const two = new Map([...provision(1, 0), ...provision(0, 20)])
    expect(namedOrder(two, alike, 5).slice(0, 5)).toEqual([20, 21, 0, 1, 22])
    expect(namedOrder(two, alike, 2).slice(0, 2)).toEqual([20, 0])
    expect(namedOrder(two, holding(28, 7), 5).slice(0, 4)).toEqual([20, 28, 0, 7])
    const sharesOf = (limit: number, shown: number): readonly number[] => {
      const rows = namedOrder(two, alike, limit).slice(0, shown)
      return [rows.filter((row) => row >= 20).length, rows.filter((row) => row < 20).length]
    }
    expect(sharesOf(10, 10)).toEqual([5, 5])
    // A re-ranker asks for fifty candidates, of which a reply shows five.
    expect(sharesOf(50, 4)).toEqual([2, 2])
    const six = new Map(Array.from({ length: 6 }, (_, reference) => provision(reference, 20 * reference)).flat())
    expect(namedOrder(six, alike, 5).slice(0, 6)).toEqual([0, 20, 40, 60, 80, 100])
  })

  test('holds every named row once', () => {
    fc.assert(
      fc.property(anyCandidates, anyRelevance, anyLimit, (candidates, relevance, limit) => {
        const named = citedOf(candidates)
        expect(namedOrder(named, relevance, limit).toSorted((a, b) => a - b)).toEqual(
          [...named.keys()].sort((a, b) => a - b),
        )
      }),
    )
  })
})
