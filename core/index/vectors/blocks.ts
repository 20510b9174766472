import { closeSync } from 'node:fs'
import { openSized, readFully } from '#core/index/storage/file-reader.ts'

/** A file of float32 rows. */
export interface VectorFile {
  readonly path: string
  readonly rows: number
  readonly dimensions: number
}

export interface VectorBlock {
  readonly firstRow: number
  /** Concatenated; valid until the next block. */
  readonly vectors: Float32Array<ArrayBuffer>
}

/** About the size of a processor's own cache. */
const BLOCK_BYTES = 2 * 1024 * 1024

/**
 * Reads a file of vectors block by block, in row order.
 * @param pause runs before each block: yields to other work, or throws to stop.
 */
export async function* vectorBlocks(
  { path, rows, dimensions }: VectorFile,
  pause: () => Promise<void>,
): AsyncGenerator<VectorBlock> {
  const rowBytes = dimensions * 4
  const blockRows = Math.max(1, Math.floor(BLOCK_BYTES / rowBytes))
  const file = openSized(path, rows * rowBytes)
  try {
    for (let firstRow = 0; firstRow < rows; firstRow += blockRows) {
      await pause()
      const bytes = new Uint8Array(Math.min(blockRows, rows - firstRow) * rowBytes)
      readFully(file, bytes, firstRow * rowBytes)
      yield { firstRow, vectors: new Float32Array(bytes.buffer) }
    }
  } finally {
    closeSync(file)
  }
}

/** Reads rows of a file of vectors in any order, block by block. */
export async function* rowBlocks(
  { path, rows, dimensions }: VectorFile,
  order: Uint32Array,
  pause: () => Promise<void>,
): AsyncGenerator<Pick<VectorBlock, 'vectors'>> {
  const rowBytes = dimensions * 4
  const blockRows = Math.max(1, Math.floor(BLOCK_BYTES / rowBytes))
  const file = openSized(path, rows * rowBytes)
  try {
    for (let from = 0; from < order.length; from += blockRows) {
      await pause()
      const wanted = order.subarray(from, from + blockRows)
      const bytes = new Uint8Array(wanted.length * rowBytes)
      for (const [at, row] of wanted.entries())
        readFully(file, bytes.subarray(at * rowBytes, (at + 1) * rowBytes), row * rowBytes)
      yield { vectors: new Float32Array(bytes.buffer) }
    }
  } finally {
    closeSync(file)
  }
}

/** At most `count` of the numbers below `total`, evenly spaced. */
export function evenlySpaced(total: number, count: number): Uint32Array<ArrayBuffer> {
  const taken = Math.min(total, count)
  return Uint32Array.from({ length: taken }, (_, at) => Math.floor((at * total) / taken))
}

/** Reads vectors of at most `count` evenly spaced rows, each in a buffer of its own. */
export async function sampleVectors(
  file: VectorFile,
  count: number,
  pause: () => Promise<void>,
): Promise<readonly Float32Array[]> {
  const sample: Float32Array[] = []
  for await (const { vectors } of rowBlocks(file, evenlySpaced(file.rows, count), pause))
    for (let at = 0; at < vectors.length; at += file.dimensions) sample.push(vectors.slice(at, at + file.dimensions))
  return sample
}
