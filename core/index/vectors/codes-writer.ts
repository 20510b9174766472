import type { FilePiece } from '#core/platform/hashed-file.ts'
import { createSharedMemory } from '#core/platform/shared-memory.ts'
import type { SharedMemory } from '#core/platform/shared-memory.ts'
import { createEncoder, encodeHeader, fitCodes } from './codes.ts'
import type { CodeSpace } from './codes.ts'
import { rowBlocks, vectorBlocks } from './blocks.ts'
import type { VectorFile } from './blocks.ts'
import { codesLayout, planesLayout } from './layout.ts'

/** Rows that fit the codes, evenly spaced. */
const SAMPLE_ROWS = 256

/**
 * Codes the vectors of a version. Double precision in a fixed order gives every machine the same bytes.
 * @param order the row in each place; undefined: in row order.
 * @returns the pieces of `vectors.i4`, each plane in order.
 */
export async function* codePieces(
  file: VectorFile,
  space: CodeSpace,
  pause: () => Promise<void>,
  order?: Uint32Array,
): AsyncGenerator<FilePiece> {
  const { dimensions } = file
  const { high, low } = codesLayout(file.rows, dimensions)
  const encode = createEncoder(space)
  yield { at: 0, bytes: encodeHeader(space) }
  let row = 0
  const blocks = order === undefined ? vectorBlocks(file, pause) : rowBlocks(file, order, pause)
  for await (const { vectors } of blocks) {
    const rows = vectors.length / dimensions
    const codes = encode(vectors)
    const lowAt = planesLayout(rows, dimensions).low.offset
    yield { at: high.offset + row * high.rowBytes, bytes: codes.subarray(0, lowAt) }
    yield { at: low.offset + row * low.rowBytes, bytes: codes.subarray(lowAt) }
    row += rows
  }
}

/** Codes the vectors into memory that threads share. */
export async function codesInMemory(file: VectorFile, pause: () => Promise<void>): Promise<SharedMemory> {
  const shared = createSharedMemory(codesLayout(file.rows, file.dimensions).bytes)
  const codes = new Uint8Array(shared.buffer)
  for await (const { at, bytes } of codePieces(file, await spaceOf(file, pause), pause)) codes.set(bytes, at)
  return shared
}

/** Chooses how the vectors of a version are coded. */
export async function spaceOf(file: VectorFile, pause: () => Promise<void>): Promise<CodeSpace> {
  const { rows, dimensions } = file
  const sums = new Float64Array(dimensions)
  const squares = new Float64Array(dimensions)
  const every = Math.max(1, rows / SAMPLE_ROWS)
  const sample: Float32Array[] = []
  for await (const { firstRow, vectors } of vectorBlocks(file, pause)) {
    for (let at = 0; at < vectors.length; at += dimensions) {
      for (let d = 0; d < dimensions; d++) {
        const value = vectors[at + d] ?? 0
        sums[d] = (sums[d] ?? 0) + value
        squares[d] = (squares[d] ?? 0) + value * value
      }
      if (firstRow + at / dimensions >= sample.length * every) sample.push(vectors.slice(at, at + dimensions))
    }
  }
  const mean = sums.map((sum) => sum / rows)
  const variances = squares.map((sum, d) => Math.max(0, sum / rows - (mean[d] ?? 0) ** 2))
  const deviation = variances.reduce((sum, variance) => sum + Math.sqrt(variance), 0) / dimensions
  return fitCodes(mean, deviation, sample)
}
