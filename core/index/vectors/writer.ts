import { join } from 'node:path'
import { syncPath } from '#core/platform/durable-file.ts'
import { digestFile, openHashedFile, writeHashed } from '#core/platform/hashed-file.ts'
import { sampleVectors, vectorBlocks, type VectorFile } from './blocks.ts'
import { encodeCentroids } from './ivf-reader.ts'
import { createCosineStatistics } from './cosine-statistics.ts'
import { buildIvfLists, type IvfLists } from './k-means.ts'
import { measureIvf } from './nprobe.ts'
import { type ScalarQuantizer, createEncoder, encodeHeader, fitQuantizer } from './quantizer.ts'

export interface VectorsInput {
  readonly folder: string
  readonly rows: number
  readonly dimensions: number
  /** Runs between steps: yields to other work, or throws to stop. */
  readonly pause: () => Promise<void>
}

/** Writes the vectors of a version, which arrive in row order. */
export type VectorsWriter = Awaited<ReturnType<typeof openVectorsWriter>>
export type WrittenVectors = Awaited<ReturnType<VectorsWriter['finish']>>

/** Queries that measure the lists; sampled rows fill them up to the minimum. */
const QUERIES_MIN = 200
const QUERIES_MAX = 400

export async function openVectorsWriter({ folder, rows, dimensions, pause }: VectorsInput) {
  const source = { path: join(folder, 'vectors.f32'), rows, dimensions }
  const exact = await openHashedFile(source.path)
  const statistics = createCosineStatistics(rows, dimensions)

  async function writeIvf({ graph, starts, radii, rows: rowOf, centroids }: IvfLists, quantizer: ScalarQuantizer) {
    const path = join(folder, 'graph.usearch')
    graph.save(path)
    await syncPath(path)
    const table = [starts, radii, rowOf].map(
      ({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength),
    )
    return {
      'vectors.sq4': await writeHashed(join(folder, 'vectors.sq4'), sq4Pieces(source, quantizer, rowOf, pause)),
      'clusters.u32': await writeHashed(join(folder, 'clusters.u32'), table),
      'centroids.sq4': await writeHashed(join(folder, 'centroids.sq4'), [encodeCentroids(quantizer, centroids)]),
      'graph.usearch': await digestFile(path),
    }
  }
  return {
    /** @param vectors of whole rows, concatenated, unit length. */
    async add(vectors: Float32Array<ArrayBuffer>) {
      await exact.write(new Uint8Array(vectors.buffer, vectors.byteOffset, vectors.byteLength))
      for (let at = 0; at < vectors.length; at += dimensions) statistics.add(vectors.subarray(at, at + dimensions))
    },
    /** @param queries at least one, of unit length; they measure the cosines and the lists. */
    async finish(queries: readonly Float32Array[]) {
      const vectors = await exact.finish()
      const lists = await buildIvfLists(source, pause)
      const files = await writeIvf(lists, await quantizerOf(source, pause))
      const given = queries.slice(0, QUERIES_MAX)
      const asked = [...given, ...(await sampleVectors(source, Math.max(0, QUERIES_MIN - given.length), pause))]
      return {
        files: { 'vectors.f32': vectors, ...files },
        ivf: {
          count: lists.starts.length - 1,
          connectivity: lists.graph.connectivity,
          ...(await measureIvf(folder, source, lists, asked, pause)),
        },
        cosines: statistics.finish(queries),
      }
    },
    /** Writes nothing that a search by vector needs: an engine searches. */
    async finishUnsearched(queries: readonly Float32Array[]) {
      return { files: { 'vectors.f32': await exact.finish() }, ivf: undefined, cosines: statistics.finish(queries) }
    },
    /** Closes without finishing; harmless after `finish`. */
    [Symbol.asyncDispose]: () => exact[Symbol.asyncDispose](),
  }
}

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
  for await (const { vectors } of vectorBlocks(file, pause, order)) yield encode(vectors)
}

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
