import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { FoundPassage } from '#core/domain/search.ts'
import { passagesToRead, scoredList } from '#core/reading/scored-list.ts'
import { foundPassage } from '#test/gateway/retrieve/pinned.ts'

const passages = (count: number, named: (at: number) => boolean = () => false): readonly FoundPassage[] =>
  Array.from({ length: count }, (_, at) => foundPassage(at, { named: named(at) }))
const rowsOf = (list: readonly FoundPassage[]): readonly number[] => list.map(({ row }) => row)

const ORDER = { scores: 'order', passages: 20 } as const
const DECIDE = { scores: 'decide', passages: 5 } as const
const BOTH = { scores: 'both', passages: 20 } as const

test('a reader is asked about the passages whose scores can change something', () => {
  const asked = (reader: typeof ORDER | typeof DECIDE | typeof BOTH): readonly number[] =>
    [0, 1, 7, 30].map((count) => passagesToRead(reader, passages(count)).length)
  expect([ORDER, DECIDE, BOTH].map(asked)).toEqual([
    [0, 0, 7, 20],
    [0, 1, 5, 5],
    [0, 1, 7, 20],
  ])
})

test('the order is that of the scores, what was not scored stays behind, and scores tell the place alone', () => {
  const list = scoredList(ORDER, passages(4), [0.1, 7, 3], 4)
  expect(list.order).toEqual([1, 2, 0, 3])
  expect(rowsOf(list.passages)).toEqual([1, 2, 0, 3])
  expect(list.passages.map(({ score }) => score)).toEqual([1, 1 / 2, 1 / 3, 1 / 4])
  expect(rowsOf(scoredList(ORDER, passages(3), [5, 5, 5], 3).passages)).toEqual([0, 1, 2])
})

test('what the query names stays in front, nothing is lost or doubled, and scores strictly decrease', () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ named: fc.boolean(), score: fc.float({ noNaN: true }) }), { maxLength: 30 }),
      (rows) => {
        const before = passages(rows.length, (at) => rows[at]?.named ?? false)
        const scores = rows.map(({ score }) => score)
        const { passages: after } = scoredList(ORDER, before, scores, before.length)
        expect(new Set(rowsOf(after))).toEqual(new Set(rowsOf(before)))
        expect(after).toHaveLength(before.length)
        expect(after.map(({ named }) => named)).toEqual(
          after.map(({ named }) => named).toSorted((a, b) => Number(b) - Number(a)),
        )
        expect(after.every(({ score }, at) => at === 0 || score < (after[at - 1]?.score ?? 0))).toBe(true)
      },
    ),
  )
})

test('scores that only decide leave the list as it is, and those that only order decide nothing', () => {
  const found = passages(3)
  expect(scoredList(DECIDE, found, [0.1, 0.9, 0], 3)).toEqual({ passages: found, read: [0.1, 0.9, 0] })
  expect(scoredList(ORDER, found, [0.1, 0.9, 0], 3)).not.toHaveProperty('read')
})

test('scores that do both decide by the passages that are served first', () => {
  const scores = [1, 9, 2, 8, 3, 7, 4, 6]
  expect(scoredList(BOTH, passages(8), scores, 8)).toMatchObject({ read: [9, 8, 7, 6, 4] })
  const two = scoredList(BOTH, passages(8), scores, 2)
  expect([rowsOf(two.passages), two.read]).toEqual([
    [1, 3],
    [9, 8],
  ])
  expect(two.order).toHaveLength(8)
})
