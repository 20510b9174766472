import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createTopK, largest } from '#core/index/top-k.ts'

/** Few different scores, so that many are equal. */
const someScores = fc.array(fc.constantFrom(-Infinity, -2, -1, 0, 0.5, 1, 3), { maxLength: 60 })

/** Positions best first, by sorting them all. */
function sortedPositions(scores: readonly number[]): number[] {
  return [...scores.keys()].sort((a, b) => {
    const [one = 0, other = 0] = [scores[a], scores[b]]
    return one === other ? a - b : other > one ? 1 : -1
  })
}

describe('the best of what is offered', () => {
  test('of equal scores are those with the lowest ranks, whatever their ids and the order in which they come', () => {
    fc.assert(
      fc.property(someScores, fc.nat({ max: 20 }), fc.infiniteStream(fc.nat()), (scores, k, random) => {
        const anyOrder = (): number[] =>
          [...scores.keys()]
            .map((id) => ({ id, place: random.next().value ?? 0 }))
            .sort((a, b) => a.place - b.place)
            .map(({ id }) => id)
        const ranks = Uint32Array.from(anyOrder())
        const top = createTopK(k, ranks)
        for (const id of anyOrder()) top.offer(id, scores[id] ?? 0)
        const expected = [...scores.keys()].sort((a, b) => {
          const [one = 0, other = 0] = [scores[a], scores[b]]
          return one === other ? (ranks[a] ?? 0) - (ranks[b] ?? 0) : other > one ? 1 : -1
        })
        expect([...top.sorted().ids]).toEqual(expected.slice(0, k))
      }),
    )
  })

  test('are the first of all sorted, whatever the order in which they come', () => {
    fc.assert(
      fc.property(someScores, fc.nat({ max: 20 }), fc.infiniteStream(fc.nat()), (scores, k, random) => {
        const top = createTopK(k)
        const order = [...scores.keys()].map((id) => ({ id, place: random.next().value ?? 0 }))
        for (const { id } of order.toSorted((a, b) => a.place - b.place)) top.offer(id, scores[id] ?? 0)
        const expected = sortedPositions(scores).slice(0, k)
        expect([...top.sorted().ids]).toEqual(expected)
        expect([...top.sorted().scores]).toEqual(expected.map((id) => scores[id]))
      }),
    )
  })

  test('have a threshold once there are enough, and go on to be gathered after they were looked at', () => {
    const top = createTopK(2)
    top.offer(7, 1)
    expect(top.threshold()).toBe(-Infinity)
    top.offer(3, 5)
    expect(top.threshold()).toBe(1)
    expect([...top.sorted().ids]).toEqual([3, 7])
    top.offer(9, 2)
    expect([...top.sorted().ids]).toEqual([3, 9])
    expect(top.threshold()).toBe(2)
  })
})

test('the positions of the largest values are the first of all sorted', () => {
  fc.assert(
    fc.property(someScores, fc.nat({ max: 70 }), (values, k) => {
      const expected = sortedPositions(values).slice(0, k)
      expect([...largest(values, k).ids]).toEqual(expected)
      expect([...largest(values, k).scores]).toEqual(expected.map((at) => values[at]))
    }),
  )
})
