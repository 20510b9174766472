import { rowBlocks, vectorBlocks, type VectorFile } from './blocks.ts'
import { createEncoder, encodeHeader, fitQuantizer, type ScalarQuantizer } from './quantizer.ts'

/** Rows that fit the quantizer, evenly spaced. */
const SAMPLE_ROWS = 256

/**
 * Quantizes the vectors of a version. Double precision in a fixed order gives every machine the same bytes.
 * @param order the row of each position. @returns `vectors.sq4` in pieces.
 */
export async function* sq4Pieces(
  file: VectorFile,
  quantizer: ScalarQuantizer,
  order: Uint32Array,
  pause: () => Promise<void>,
): AsyncGenerator<Uint8Array> {
  const encode = createEncoder(quantizer)
  yield encodeHeader(quantizer)
  for await (const { vectors } of rowBlocks(file, order, pause)) yield encode(vectors)
}

/** Fits the quantizer of a version. */
export async function quantizerOf(file: VectorFile, pause: () => Promise<void>): Promise<ScalarQuantizer> {
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
  return fitQuantizer(mean, deviation, sample)
}
