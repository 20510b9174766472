import fc from 'fast-check'
import { expect, test } from 'vitest'
import { boostCited } from '#search-node/search/boost.ts'

const candidate = fc.record({
  row: fc.nat({ max: 1_000 }),
  score: fc.double({ min: -1, max: 1, noNaN: true }),
  named: fc.boolean(),
})
const anyCandidates = fc.uniqueArray(candidate, { selector: ({ row }) => row })

test('every row that the query names stands above every row that it does not, and each keep their order', () => {
  fc.assert(
    fc.property(anyCandidates, (candidates) => {
      const scores = Float64Array.from(candidates, ({ score }) => score)
      const named = new Map(candidates.filter((each) => each.named).map(({ row }) => [row, 0] as const))
      const boosted = boostCited(
        Uint32Array.from(candidates, ({ row }) => row),
        scores,
        named,
      )
      expect(boosted.every((score) => named.size === 0 || (score >= 0 && score <= 1))).toBe(true)
      const after = candidates.map((each, at) => ({ ...each, boosted: boosted[at] ?? 0 }))
      const best = after.toSorted((a, b) => Number(b.named) - Number(a.named) || b.score - a.score)
      for (const [at, { boosted: own }] of best.slice(1).entries())
        expect(best[at]?.boosted).toBeGreaterThanOrEqual(own)
    }),
  )
})

test('a named row that shares no word with the query still stands above a row that says all of it', () => {
  const boosted = boostCited(Uint32Array.of(3, 9), Float64Array.of(0, 0.999), new Map([[3, 0]]))
  expect(boosted[0]).toBeGreaterThan(boosted[1] ?? 1)
})

test('where nothing is named scores are what they were', () => {
  const scores = Float64Array.of(-0.5, 0.25)
  expect(boostCited(Uint32Array.of(0, 1), scores, new Map())).toEqual(scores)
})
