import fc from 'fast-check'
import { expect, test } from 'vitest'
import { reordered } from '#core/reranking/order.ts'
import type { FoundPassage } from '#core/domain/search.ts'

function passages(count: number, named: (at: number) => boolean = () => false): readonly FoundPassage[] {
  return Array.from(
    { length: count },
    (_, at) => ({ chunkId: `chk_${at}`, score: 1 - at / 100, named: named(at) }) as FoundPassage,
  )
}

test('the order is that of the scores, what was not scored stays behind, and scores tell the place alone', () => {
  const { passages: order, order: positions } = reordered(passages(4), [0.1, 7, 3])
  expect(positions).toEqual([1, 2, 0, 3])
  expect(order.map(({ chunkId }) => chunkId)).toEqual(['chk_1', 'chk_2', 'chk_0', 'chk_3'])
  expect(order.map(({ score }) => score)).toEqual([1, 1 / 2, 1 / 3, 1 / 4])
})

test('equal scores keep the order of the search', () => {
  expect(reordered(passages(3), [5, 5, 5]).passages.map(({ chunkId }) => chunkId)).toEqual(['chk_0', 'chk_1', 'chk_2'])
})

test('what the query names stays in front, nothing is lost or doubled, and scores strictly decrease', () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ named: fc.boolean(), score: fc.float({ noNaN: true }) }), { maxLength: 30 }),
      (rows) => {
        const before = passages(rows.length, (at) => rows[at]?.named ?? false)
        const { passages: after } = reordered(
          before,
          rows.map(({ score }) => score),
        )
        expect(after.map(({ chunkId }) => chunkId).toSorted()).toEqual(before.map(({ chunkId }) => chunkId).toSorted())
        expect(after.map(({ named }) => named)).toEqual(
          after.map(({ named }) => named).toSorted((a, b) => Number(b) - Number(a)),
        )
        expect(after.every(({ score }, at) => at === 0 || score < (after[at - 1]?.score ?? 0))).toBe(true)
      },
    ),
  )
})
