import { closeSync } from 'node:fs'
import { openSized, readFully } from '#core/index/storage/file-reader.ts'

/** A file of float32 rows. */
export interface VectorFile {
  readonly path: string
  readonly rows: number
  readonly dimensions: number
}

export interface VectorBlock {
  /** Row of the first one, or its place in `order`. */
  readonly firstRow: number
  /** Concatenated; valid until the next block. */
  readonly vectors: Float32Array<ArrayBuffer>
}

/** About the size of a processor's own cache. */
const BLOCK_BYTES = 2 * 1024 * 1024

/**
 * Reads a file of vectors block by block, in row order or the rows of `order`.
 * @param pause runs before each block: yields to other work, or throws to stop.
 */
export async function* vectorBlocks(
  { path, rows, dimensions }: VectorFile,
  pause: () => Promise<void>,
  order?: Uint32Array,
): AsyncGenerator<VectorBlock> {
  const rowBytes = dimensions * 4
  const blockRows = Math.max(1, Math.floor(BLOCK_BYTES / rowBytes))
  const count = order?.length ?? rows
  using opened = new DisposableStack()
  const file = opened.adopt(openSized(path, rows * rowBytes), closeSync)
  for (let firstRow = 0; firstRow < count; firstRow += blockRows) {
    await pause()
    const bytes = new Uint8Array(Math.min(blockRows, count - firstRow) * rowBytes)
    if (order === undefined) readFully(file, bytes, firstRow * rowBytes)
    else
      for (const [at, row] of order.subarray(firstRow, firstRow + blockRows).entries())
        readFully(file, bytes.subarray(at * rowBytes, (at + 1) * rowBytes), row * rowBytes)
    yield { firstRow, vectors: new Float32Array(bytes.buffer) }
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
  for await (const { vectors } of vectorBlocks(file, pause, evenlySpaced(file.rows, count)))
    for (let at = 0; at < vectors.length; at += file.dimensions) sample.push(vectors.slice(at, at + file.dimensions))
  return sample
}
