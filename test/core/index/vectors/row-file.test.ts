import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, inject, test } from 'vitest'
import { innerProductAt } from '#core/index/vectors/inner-product.ts'
import { openRowFile, rowsInMemory } from '#core/index/vectors/row-file.ts'
import { seededRandom } from '#test/support/passages.ts'
import { folderOfFile } from '#test/support/folder.ts'

const { seed } = inject('random')

const folder = folderOfFile()

const ROWS = 300

function rowsOf(dimensions: number): { readonly path: string; readonly vectors: Float32Array<ArrayBuffer> } {
  const random = seededRandom(seed + dimensions)
  const vectors = Float32Array.from({ length: ROWS * dimensions }, () => (random() - 0.5) * 10 ** (random() * 6 - 3))
  const path = join(folder, `${dimensions}.f32`)
  writeFileSync(path, new Uint8Array(vectors.buffer))
  return { path, vectors }
}

test.each([1, 2, 3, 5, 64, 384, 767, 768, 3_072])(
  'cosines of any rows of %i dimensions have the bits of the definition',
  (dimensions) => {
    const { path, vectors } = rowsOf(dimensions)
    const file = openRowFile(path, dimensions)
    const inMemory = rowsInMemory(vectors, dimensions)
    const row = fc.integer({ min: 0, max: ROWS - 1 })
    // Neighbours are read together, so some sets are dense.
    const near = fc.tuple(row, fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 40 })).map(([first, steps]) => {
      let at = first
      return [first, ...steps.map((step) => (at += step))].filter((each) => each < ROWS)
    })
    fc.assert(
      fc.property(fc.oneof(fc.array(row, { maxLength: 40 }), near), row, (some, asked) => {
        const rows = Uint32Array.from(new Set(some)).sort()
        const query = vectors.slice(asked * dimensions, (asked + 1) * dimensions)
        const expected = Array.from(rows, (each) => innerProductAt(vectors, each * dimensions, query))
        for (const read of [file, inMemory]) {
          expect([...read.cosines(rows, query)]).toEqual(expected)
          expect(read.read(asked)).toEqual(query)
        }
      }),
      { seed, numRuns: 60 },
    )
    file.close()
  },
)

test('a file that is shorter than a row of it says so', () => {
  const { path } = rowsOf(16)
  const file = openRowFile(path, 16)
  expect(() => file.cosines(Uint32Array.of(ROWS - 1, ROWS), new Float32Array(16))).toThrow(/shorter than it was/)
  file.close()
})
