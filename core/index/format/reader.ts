import { join } from 'node:path'
import { openFacetsReader } from '#core/index/facets/reader.ts'
import type { FacetsReader } from '#core/index/facets/reader.ts'
import { openForwardReader } from '#core/index/lexical/forward-reader.ts'
import type { ForwardReader } from '#core/index/lexical/forward-reader.ts'
import { openLexicalReader } from '#core/index/lexical/reader.ts'
import type { LexicalReader } from '#core/index/lexical/reader.ts'
import { openPassagesReader } from '#core/index/passages/reader.ts'
import type { PassagesReader } from '#core/index/passages/reader.ts'
import { readRowTable } from '#core/index/passages/row-table.ts'
import type { RowTable } from '#core/index/passages/row-table.ts'
import { openReferencesReader } from '#core/index/references/reader.ts'
import type { ReferencesReader } from '#core/index/references/reader.ts'
import { readCells } from '#core/index/vectors/cells-reader.ts'
import type { Cells } from '#core/index/vectors/cells-reader.ts'
import type { CosineStatistics } from '#core/index/vectors/cosine-statistics.ts'
import type { Reach } from '#core/index/vectors/layout.ts'
import { openRowFile } from '#core/index/vectors/row-file.ts'
import type { RowFile } from '#core/index/vectors/row-file.ts'
import type { Manifest } from './manifest.ts'

/** Reference to a verified artifact that the event loop passes to a thread. */
export interface ArtifactRef {
  readonly projectionId: string
  readonly folder: string
  readonly passages: number
  readonly dimensions: number
  readonly documents: number
  readonly head: number
  readonly cells: number
  readonly reach: Reach
  /** Undefined for a version of a format without them. */
  readonly cosines: CosineStatistics | undefined
}

export function artifactRef(
  folder: string,
  { projection_id, passages, documents, embedding, index, cosines }: Manifest,
): ArtifactRef {
  return {
    projectionId: projection_id,
    folder,
    passages,
    documents,
    dimensions: embedding.dimensions,
    head: index.head,
    cells: index.cells,
    reach: index.reach,
    cosines,
  }
}

/** One thread's view of one artifact: a reader for each of its parts. */
export interface IndexReader {
  readonly passages: number
  readonly dimensions: number
  readonly cells: Cells
  readonly cosines: CosineStatistics | undefined
  /** float32. */
  readonly vectors: RowFile
  /** int8, by slot. */
  readonly heads: RowFile
  readonly facets: FacetsReader
  readonly rows: RowTable
  readonly lexical: LexicalReader
  readonly forward: ForwardReader
  readonly references: ReferencesReader
  readonly passage: PassagesReader['passage']
  /** Idempotent. */
  close(): void
}

/** @throws Error, with every file closed, if one does not match the verified manifest. */
export function openIndex(ref: ArtifactRef): IndexReader {
  const { folder, passages, dimensions } = ref
  using opening = new DisposableStack()
  const held = <Reader extends { close(): void }>(reader: Reader): Reader =>
    opening.adopt(reader, (opened) => opened.close())
  const vectors = held(openRowFile(join(folder, 'vectors.f32'), dimensions * 4))
  const heads = held(openRowFile(join(folder, 'vectors.i8'), ref.head))
  const records = held(openPassagesReader(folder, passages))
  const facets = held(openFacetsReader(folder, passages, ref.documents))
  const lexical = held(openLexicalReader(folder, passages))
  const forward = held(openForwardReader(folder, passages))
  const references = held(openReferencesReader(folder))
  const index = {
    passages,
    dimensions,
    cosines: ref.cosines,
    cells: readCells(folder, passages, dimensions, ref),
    vectors,
    heads,
    facets,
    rows: readRowTable(folder, passages),
    lexical,
    forward,
    references,
    passage: (row: number) => records.passage(row),
  }
  const files = opening.move()
  return { ...index, close: () => files.dispose() }
}
