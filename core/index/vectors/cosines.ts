import { innerProductAt } from './inner-product.ts'
import type { RowFile } from './row-file.ts'

/** Cosines of rows, bit-identical on every machine. @param rows ascending. @param query unit length. */
export function cosines(vectors: RowFile, rows: Uint32Array, query: Float32Array): Float64Array {
  const scores = new Float64Array(rows.length)
  for (let at = 0; at < rows.length; at += vectors.rowsMax) {
    const piece = rows.subarray(at, at + vectors.rowsMax)
    const block = new Float32Array(vectors.read(piece), 0, piece.length * query.length)
    for (let position = 0; position < piece.length; position++)
      scores[at + position] = innerProductAt(block, position * query.length, query)
  }
  return scores
}
