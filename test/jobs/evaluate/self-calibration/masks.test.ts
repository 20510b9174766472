import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createMasks } from '#jobs/evaluate/self-calibration/masks.ts'

/** Rows whose bit is set. */
function rowsIn(bits: Uint8Array): readonly number[] {
  return Array.from({ length: bits.length * 8 }, (_, row) => row).filter(
    (row) => ((bits[row >> 3] ?? 0) & (1 << (row & 7))) !== 0,
  )
}

test('a mask leaves the rows of all other documents, wherever the rows of its own are', () => {
  const corpora = fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 1, maxLength: 80 })
  fc.assert(
    fc.property(corpora, fc.nat(), (documents, turn) => {
      const row = turn % documents.length
      const size = documents.filter((document) => document === documents[row]).length
      fc.pre(size <= documents.length / 2)
      const others = [...documents.keys()].filter((other) => documents[other] !== documents[row])
      expect(rowsIn(createMasks(Uint32Array.from(documents))(row))).toEqual(others)
    }),
  )
})

test('where one document holds most rows, a mask leaves those of its rows that are more than fifty away', () => {
  const documents = new Uint32Array(300)
  documents[110] = 1
  const left = rowsIn(createMasks(documents)(100))
  expect(left).toEqual(
    Array.from({ length: 300 }, (_, row) => row).filter((row) => Math.abs(row - 100) > 50 || row === 110),
  )
  expect(rowsIn(createMasks(documents)(110))).toEqual(
    Array.from({ length: 300 }, (_, row) => row).filter((row) => row !== 110),
  )
})

test('masks of two documents of equal size leave the other one whole', () => {
  const documents = Uint32Array.from({ length: 400 }, (_, row) => row % 2)
  expect(rowsIn(createMasks(documents)(0))).toEqual(Array.from({ length: 200 }, (_, at) => 2 * at + 1))
})
