import fc from 'fast-check'
import { expect, test } from 'vitest'
import { firstIndex } from '#core/platform/first-index.ts'

test('the first index of which a condition holds is that of a search from the start, and the count where it holds of none', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 9 })), fc.integer({ min: 0, max: 10 }), (values, least) => {
      const rising = values.toSorted((a, b) => a - b)
      const expected = rising.findIndex((value) => value >= least)
      const found = firstIndex(rising.length, (index) => (rising[index] ?? 0) >= least)
      expect(found).toBe(expected === -1 ? rising.length : expected)
    }),
  )
})
