import { join } from 'node:path'
import { addRow, bitsetWords } from '#core/platform/bitset.ts'
import { wholeFile } from '#core/platform/resident-parts.ts'
import type { ResidentParts } from '#core/platform/resident-parts.ts'
import { createEncoder } from './codes.ts'
import type { CodedQuery, CodeSpace } from './codes.ts'
import { createKernel, NO_THRESHOLD } from './kernel.ts'
import { planesLayout } from './layout.ts'

/** The means of the cells of a version, in codes; one thread's view. */
export interface CellMeans {
  /**
   * The inner product of a query with the mean of each cell, less that with the mean of all rows.
   * @returns by cell; valid until the next call.
   */
  products(query: CodedQuery): Float32Array
}

/** @param means concatenated. @returns `cells.i4`. */
export function encodeMeans(space: CodeSpace, means: Float32Array): Uint8Array {
  return createEncoder(space)(means)
}

/** Length of `cells.i4`: the codes of the means, as those of rows in `vectors.i4`. */
export function meansBytes(cells: number, dimensions: number): number {
  return planesLayout(cells, dimensions).bytes
}

/** @throws Error if the file does not hold so many codes. */
export function openMeans(folder: string, cells: number, dimensions: number, parts: ResidentParts): CellMeans {
  const codes = parts.memory(wholeFile(join(folder, 'cells.i4'), meansBytes(cells, dimensions)))
  const words = bitsetWords(cells)
  const layout = planesLayout(cells, dimensions)
  const { bits, hits, ask, scan, refine } = createKernel(layout, codes, { rowsMax: words * 32 })
  for (let cell = 0; cell < cells; cell++) addRow(bits, cell)
  const products = new Float32Array(cells)
  return {
    products(query) {
      ask(query)
      refine(layout.low.offset, scan(layout.high.offset, words, NO_THRESHOLD), NO_THRESHOLD)
      // Every code scores above the threshold, so the hits are the cells in order.
      for (let cell = 0; cell < cells; cell++)
        products[cell] = ((hits[cell * 2 + 1] ?? 0) - query.offset) / query.scorePerCosine
      return products
    },
  }
}
