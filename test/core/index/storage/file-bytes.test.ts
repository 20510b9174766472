import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openFileBytes } from '#core/index/storage/file-bytes.ts'
import { createResidentParts } from '#core/index/storage/resident-parts.ts'
import { folderOfFile } from '#test/support/folder.ts'

const folder = folderOfFile()

function written(bytes: Uint8Array): string {
  const path = join(folder, 'file')
  writeFileSync(path, bytes)
  return path
}

test('a file gives the same bytes from memory and from the page cache', () => {
  const pieces = fc.array(fc.tuple(fc.nat(70_000), fc.nat(40_000)), { minLength: 1 })
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 70_000 }), pieces, (bytes, places) => {
      const path = written(bytes)
      for (const fileBytesMax of [bytes.length, bytes.length - 1]) {
        using stack = new DisposableStack()
        const parts = createResidentParts(new Map(), fileBytesMax)
        const file = stack.adopt(openFileBytes(path, bytes.length, parts), (opened) => opened.close())
        const kept = places.map(([from, length]) => {
          const [at, size] = [from % bytes.length, Math.min(length, bytes.length - (from % bytes.length))]
          const target = new Uint8Array(size)
          file.copyTo(target, at)
          const expected = bytes.slice(at, at + size)
          expect(target).toEqual(expected)
          expect(new Uint8Array(file.passing(at, size))).toEqual(expected)
          return { piece: file.piece(at, size), expected }
        })
        for (const { piece, expected } of kept) expect(new Uint8Array(piece)).toEqual(expected)
      }
    }),
    { numRuns: 20 },
  )
})

test('a file up to the bound is in memory that threads share, a larger one is not', () => {
  const path = written(new Uint8Array(100))
  const first = createResidentParts(new Map(), 100)
  const file = openFileBytes(path, 100, first)
  expect(file.memory?.byteLength).toBe(100)
  expect(openFileBytes(path, 100, createResidentParts(first.shared, 100)).memory).toBe(file.memory)
  const larger = createResidentParts(new Map(), 99)
  const read = openFileBytes(path, 100, larger)
  expect(read.memory).toBeUndefined()
  expect(larger.shared.size).toBe(0)
  read.close()
})

test.each([0, 100])('a file of another size is refused, whether it is kept in memory or not', (fileBytesMax) => {
  const path = written(new Uint8Array(10))
  for (const size of [9, 11])
    expect(() => openFileBytes(path, size, createResidentParts(new Map(), fileBytesMax))).toThrow('not as long')
})
