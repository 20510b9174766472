import { join } from 'node:path'
import { syncPath } from '#core/platform/durable-file.ts'
import { digestFile, openHashedFile, writeHashed, writePieces } from '#core/platform/hashed-file.ts'
import type { FileDigest } from '#core/platform/hashed-file.ts'
import { encodeMeans } from './cell-means.ts'
import { codePieces, spaceOf } from './codes-writer.ts'
import type { CodeSpace } from './codes.ts'
import { createCosineStatistics } from './cosine-statistics.ts'
import type { CosineStatistics } from './cosine-statistics.ts'
import type { CellsDescription } from './cells.ts'
import { measureCells } from './cells-recall.ts'
import { divide } from './cells-writer.ts'
import type { Cells } from './cells-writer.ts'
import { hasCells } from './layout.ts'

export interface VectorsInput {
  readonly folder: string
  readonly rows: number
  readonly dimensions: number
  /** Minimum number of bytes of codes for cells, if not the default. */
  readonly cellsFromBytes: number | undefined
  /** Runs between steps: yields to other work, or throws to stop. */
  readonly pause: () => Promise<void>
}

export interface WrittenVectors {
  readonly files: {
    readonly 'vectors.f32': FileDigest
    readonly 'vectors.i4': FileDigest
    readonly 'cells.u32'?: FileDigest
    readonly 'cells.i4'?: FileDigest
    readonly 'graph.usearch'?: FileDigest
  }
  readonly cells: CellsDescription | undefined
  /** Undefined without queries. */
  readonly cosines: CosineStatistics | undefined
}

/** Writes the vectors of a version, which arrive in row order. */
export interface VectorsWriter {
  /** @param vectors of whole rows, concatenated, unit length. */
  add(vectors: Float32Array<ArrayBuffer>): Promise<void>
  /** @param queries unit length; they measure the cosines and the cells. */
  finish(queries: readonly Float32Array[]): Promise<WrittenVectors>
  /** Closes without finishing; harmless after `finish`. */
  abandon(): Promise<void>
}

export async function openVectorsWriter(input: VectorsInput): Promise<VectorsWriter> {
  const { folder, rows, dimensions, pause } = input
  const source = { path: join(folder, 'vectors.f32'), rows, dimensions }
  const exact = await openHashedFile(source.path)
  const statistics = createCosineStatistics(rows, dimensions)

  async function writeCells(
    cells: Cells,
    space: CodeSpace,
  ): Promise<Pick<WrittenVectors['files'], 'cells.u32' | 'cells.i4' | 'graph.usearch'>> {
    const path = join(folder, 'graph.usearch')
    cells.graph.save(path)
    await syncPath(path)
    const { starts, radii, rows: rowOf } = cells
    const pieces = [starts, radii, rowOf].map(
      ({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength),
    )
    return {
      'cells.u32': await writeHashed(join(folder, 'cells.u32'), pieces),
      'cells.i4': await writeHashed(join(folder, 'cells.i4'), [encodeMeans(space, cells.means)]),
      'graph.usearch': await digestFile(path),
    }
  }
  return {
    async add(vectors) {
      await exact.write(new Uint8Array(vectors.buffer, vectors.byteOffset, vectors.byteLength))
      for (let at = 0; at < vectors.length; at += dimensions) statistics.add(vectors.subarray(at, at + dimensions))
    },
    async finish(queries) {
      const file = await exact.finish()
      const cells = hasCells(rows, dimensions, input.cellsFromBytes) ? await divide(source, pause) : undefined
      const space = await spaceOf(source, pause)
      const codes = await writePieces(join(folder, 'vectors.i4'), codePieces(source, space, pause, cells?.rows))
      return {
        files: { 'vectors.f32': file, 'vectors.i4': codes, ...(cells && (await writeCells(cells, space))) },
        cells: cells && {
          count: cells.starts.length - 1,
          ...cells.graph.shape,
          ...(await measureCells(folder, source, cells, queries, pause)),
        },
        cosines: statistics.finish(queries),
      }
    },
    abandon: () => exact.abandon(),
  }
}
