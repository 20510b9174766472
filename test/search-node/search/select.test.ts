import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { byScore, selectRows, type Scored, type SelectRules } from '#search-node/search/search-rounds.ts'

/** Row by row: its document and its provision. */
function tableOf(rows: readonly (readonly [document: number, provision: number])[]): Parameters<typeof selectRows>[1] {
  return {
    documents: Uint32Array.from(rows, ([document]) => document),
    provisions: Uint32Array.from(rows, ([, provision]) => provision),
  }
}

const ranked = (...rows: readonly number[]): Scored[] => rows.map((row, at) => ({ row, score: 1 - at / 100 }))
const rules = (change: Partial<SelectRules> = {}): SelectRules => ({
  limit: 10,
  perDocumentMax: 0,
  inForce: undefined,
  ...change,
})
const rowsOf = (selected: readonly Scored[]): number[] => selected.map(({ row }) => row)

describe('the order of a reply', () => {
  test('is best score first, equals by chunk id', () => {
    const chunkRanks = Uint32Array.of(2, 0, 3, 1)
    const scored = [0.5, 0.5, 0.9, 0.5].map((score, row) => ({ row, score }))
    expect(rowsOf(scored.sort(byScore({ chunkRanks })))).toEqual([2, 1, 3, 0])
  })

  test('is the same whatever order the candidates come in', () => {
    const any = fc.uniqueArray(fc.record({ row: fc.nat({ max: 50 }), score: fc.constantFrom(0, 0.25, 0.5) }), {
      selector: ({ row }) => row,
    })
    const chunkRanks = Uint32Array.from({ length: 51 }, (_, row) => (row * 7) % 51)
    fc.assert(
      fc.property(any, (scored) => {
        expect(scored.toReversed().sort(byScore({ chunkRanks }))).toEqual(scored.toSorted(byScore({ chunkRanks })))
      }),
    )
  })
})

describe('revisions of one provision', () => {
  // Rows 0, 1 and 2 are three revisions of one provision, row 3 is another.
  const table = tableOf([
    [0, 0],
    [0, 0],
    [0, 0],
    [0, 1],
  ])

  test('show once, the one in force, however well another one ranks, at its own place and score', () => {
    const selected = selectRows(ranked(0, 3, 1, 2), table, rules({ inForce: (row) => row === 1 || row === 3 }))
    expect(selected).toEqual([
      { row: 3, score: 0.99 },
      { row: 1, score: 0.98 },
    ])
  })
})

test('whatever the candidates, the list is the longest prefix of what the rules allow, in order', () => {
  const anyTable = fc.array(fc.tuple(fc.nat({ max: 3 }), fc.nat({ max: 4 }), fc.boolean()), {
    minLength: 1,
    maxLength: 20,
  })
  fc.assert(
    fc.property(
      anyTable,
      fc.nat({ max: 12 }),
      fc.nat({ max: 3 }),
      fc.boolean(),
      (rows, limit, perDocumentMax, collapses) => {
        const table = tableOf(rows.map(([document, provision]) => [document, provision]))
        const list = ranked(...rows.keys())
        const inForce = (row: number): boolean => rows[row]?.[2] === true
        const standsFor = (row: number): boolean => {
          const revisions = [...rows.keys()].filter((other) => table.provisions[other] === table.provisions[row])
          return (revisions.find(inForce) ?? revisions[0]) === row
        }
        const expected: number[] = []
        for (const { row } of list) {
          const ofDocument = expected.filter((other) => table.documents[other] === table.documents[row]).length
          if ((!collapses || standsFor(row)) && (perDocumentMax === 0 || ofDocument < perDocumentMax))
            expected.push(row)
        }
        expect(
          rowsOf(selectRows(list, table, rules({ limit, perDocumentMax, inForce: collapses ? inForce : undefined }))),
        ).toEqual(expected.slice(0, limit))
      },
    ),
  )
})
