import { join } from 'node:path'
import { syncPath } from '#core/platform/durable-file.ts'
import { digestFile, openHashedFile, writeHashed } from '#core/platform/hashed-file.ts'
import type { FileDigest } from '#core/platform/hashed-file.ts'
import { codePieces } from './codes-writer.ts'
import { createCosineStatistics } from './cosine-statistics.ts'
import type { CosineStatistics } from './cosine-statistics.ts'
import type { Graph } from './graph.ts'
import { openGraph } from './graph-reader.ts'
import { measureGraph } from './graph-recall.ts'
import { createGraphWriter } from './graph-writer.ts'
import { hasGraph } from './layout.ts'

export interface VectorsInput {
  readonly folder: string
  readonly rows: number
  readonly dimensions: number
  /** Minimum number of bytes of codes for a graph, if not the default. */
  readonly graphFromBytes: number | undefined
  /** Runs between steps: yields to other work, or throws to stop. */
  readonly pause: () => Promise<void>
}

export interface WrittenVectors {
  readonly files: {
    readonly 'vectors.f32': FileDigest
    readonly 'vectors.i4': FileDigest
    readonly 'graph.usearch'?: FileDigest
  }
  readonly graph: Graph | undefined
  /** Undefined without queries. */
  readonly cosines: CosineStatistics | undefined
}

/** Writes the vectors of a version, which arrive in row order. */
export interface VectorsWriter {
  /** @param vectors of whole rows, concatenated, unit length. */
  add(vectors: Float32Array<ArrayBuffer>): Promise<void>
  /** @param queries unit length; they measure the cosines and the graph. */
  finish(queries: readonly Float32Array[]): Promise<WrittenVectors>
  /** Closes without finishing; harmless after `finish`. */
  abandon(): Promise<void>
}

export async function openVectorsWriter(input: VectorsInput): Promise<VectorsWriter> {
  const { folder, rows, dimensions, pause } = input
  const source = { path: join(folder, 'vectors.f32'), rows, dimensions }
  const exact = await openHashedFile(source.path)
  const statistics = createCosineStatistics(rows, dimensions)
  const graphWriter = hasGraph(rows, dimensions, input.graphFromBytes) ? createGraphWriter(dimensions) : undefined

  async function finishGraph(
    queries: readonly Float32Array[],
  ): Promise<{ readonly file: FileDigest; readonly graph: Graph } | undefined> {
    if (graphWriter === undefined) return undefined
    const path = join(folder, 'graph.usearch')
    const shape = graphWriter.save(path)
    await syncPath(path)
    const reader = openGraph(path, rows, dimensions, shape)
    return {
      file: await digestFile(path),
      graph: { ...shape, ...(await measureGraph(reader, source, queries, pause)) },
    }
  }
  return {
    async add(vectors) {
      await exact.write(new Uint8Array(vectors.buffer, vectors.byteOffset, vectors.byteLength))
      for (let at = 0; at < vectors.length; at += dimensions) statistics.add(vectors.subarray(at, at + dimensions))
      graphWriter?.add(vectors)
    },
    async finish(queries) {
      const file = await exact.finish()
      const codes = await writeHashed(join(folder, 'vectors.i4'), codePieces(source, pause))
      const graph = await finishGraph(queries)
      return {
        files: {
          'vectors.f32': file,
          'vectors.i4': codes,
          ...(graph === undefined ? {} : { 'graph.usearch': graph.file }),
        },
        graph: graph?.graph,
        cosines: statistics.finish(queries),
      }
    },
    abandon: () => exact.abandon(),
  }
}
