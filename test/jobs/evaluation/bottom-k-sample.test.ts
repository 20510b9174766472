import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createBottomKSample } from '#jobs/evaluation/bottom-k-sample.ts'

const ids = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 4 }), { maxLength: 60 })

test('a sample holds the items with the smallest ids, sorted, whatever order they come in', () => {
  fc.assert(
    fc.property(ids, fc.integer({ min: 1, max: 20 }), (all, count) => {
      const sample = createBottomKSample<{ readonly id: string }>(count)
      for (const id of all) sample.add({ id })
      expect(sample.items.map(({ id }) => id)).toEqual(all.toSorted().slice(0, count))
    }),
  )
})

test('a sample says beforehand whether it takes an id', () => {
  fc.assert(
    fc.property(ids, fc.integer({ min: 1, max: 20 }), (all, count) => {
      const sample = createBottomKSample<{ readonly id: string }>(count)
      for (const id of all) {
        const takes = sample.takes(id)
        sample.add({ id })
        expect(sample.items.some((item) => item.id === id)).toBe(takes)
      }
    }),
  )
})
