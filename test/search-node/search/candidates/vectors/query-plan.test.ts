import fc from 'fast-check'
import { expect, test } from 'vitest'
import { planQuery } from '#search-node/search/candidates/vectors/query-plan.ts'
import type { QueryPlanInput } from '#search-node/search/candidates/vectors/query-plan.ts'

const million: QueryPlanInput = { passages: 1_000_000, head: 128, cells: 2_000, allowed: 1_000_000 }

test('where many rows are allowed they are looked through cell by cell, where few are each is scored', () => {
  for (const allowed of [1_000_000, 500_000, 100_000, 10_000]) expect(planQuery({ ...million, allowed })).toBe('cells')
  for (const allowed of [500, 100, 10, 1, 0]) expect(planQuery({ ...million, allowed })).toBe('exact')
})

test('a version that is not divided is scored row by row', () => {
  expect(planQuery({ ...million, cells: 1 })).toBe('exact')
})

test('of two filters, if the narrower is looked through cell by cell, so is the wider', () => {
  const input = fc.record({
    passages: fc.integer({ min: 4_096, max: 10_000_000 }),
    head: fc.integer({ min: 8, max: 4_096 }),
    cells: fc.integer({ min: 2, max: 8_000 }),
  })
  fc.assert(
    fc.property(
      input,
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (shape, a, b) => {
        const [narrow, wide] = [
          Math.floor(Math.min(a, b) * shape.passages),
          Math.floor(Math.max(a, b) * shape.passages),
        ]
        const plans = [narrow, wide].map((allowed) => planQuery({ ...shape, allowed }))
        expect(plans).not.toEqual(['cells', 'exact'])
      },
    ),
  )
})
