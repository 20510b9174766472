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
import { openCodes } from '#core/index/vectors/codes-reader.ts'
import type { CodesReader, CodesSource } from '#core/index/vectors/codes-reader.ts'
import type { CosineStatistics } from '#core/index/vectors/cosine-statistics.ts'
import { codesInMemory } from '#core/index/vectors/codes-writer.ts'
import type { CellsDescription } from '#core/index/vectors/cells.ts'
import { openCells } from '#core/index/vectors/cells-reader.ts'
import type { CellsReader } from '#core/index/vectors/cells-reader.ts'
import { codesFit, codesLayout } from '#core/index/vectors/layout.ts'
import { openRowFile } from '#core/index/vectors/row-file.ts'
import type { RowFile } from '#core/index/vectors/row-file.ts'
import { BOUNDS } from '#core/platform/bounds.ts'
import { createPause } from '#core/platform/pause.ts'
import { createResidentParts, wholeFile } from '#core/platform/resident-parts.ts'
import type { ResidentParts, SharedParts } from '#core/platform/resident-parts.ts'
import type { SharedMemory } from '#core/platform/shared-memory.ts'
import { ARTIFACT_FORMAT, cellsOf, hashesWords } from './manifest.ts'
import type { Manifest } from './manifest.ts'

/** Reference to a verified artifact that the event loop passes to a thread. */
export interface ArtifactRef {
  readonly projectionId: string
  readonly folder: string
  readonly passages: number
  readonly dimensions: number
  readonly documents: number
  /** See `hashesWords`. */
  readonly hashedWords: boolean
  /** Undefined for a small version. */
  readonly cells: CellsDescription | undefined
  /** The codes of a version of a former format, which has no file of them; all threads share them. */
  readonly codes: SharedMemory | undefined
  /** Undefined for a version of a format without them. */
  readonly cosines: CosineStatistics | undefined
}

/** @param codes see `codesOf`. */
export function artifactRef(folder: string, manifest: Manifest, codes?: SharedMemory): ArtifactRef {
  const { projection_id, passages, documents, embedding, cosines } = manifest
  return {
    projectionId: projection_id,
    folder,
    passages,
    documents,
    dimensions: embedding.dimensions,
    hashedWords: hashesWords(embedding),
    cosines,
    cells: cellsOf(manifest),
    codes,
  }
}

/**
 * Codes the vectors of a verified artifact whose format has no codes. A search scans them; such a version has no cells.
 * @returns undefined for an artifact with codes of its own.
 */
export async function codesOf(folder: string, manifest: Manifest): Promise<SharedMemory | undefined> {
  if (manifest.format === ARTIFACT_FORMAT) return undefined
  const { passages: rows, embedding } = manifest
  return codesInMemory({ path: join(folder, 'vectors.f32'), rows, dimensions: embedding.dimensions }, createPause())
}

/** One thread's view of one artifact: a reader for each of its parts. */
export interface IndexReader {
  readonly passages: number
  readonly dimensions: number
  readonly hashedWords: boolean
  readonly cosines: CosineStatistics | undefined
  /** float32. */
  readonly vectors: RowFile
  readonly codes: CodesReader
  readonly cells: CellsReader | undefined
  readonly facets: FacetsReader
  readonly rows: RowTable
  readonly lexical: LexicalReader
  readonly forward: ForwardReader
  readonly references: ReferencesReader
  readonly passage: PassagesReader['passage']
  /** What threads share of the artifact. */
  readonly shared: SharedParts
  /** Idempotent. */
  close(): void
}

/** Codes that fit are kept in memory: of others, each search copies pieces from the page cache. */
function codesSource(
  { folder, passages, dimensions, codes }: ArtifactRef,
  parts: ResidentParts,
  codesMb: number,
): CodesSource {
  if (codes !== undefined) return { memory: codes }
  const path = join(folder, 'vectors.i4')
  const { bytes } = codesLayout(passages, dimensions)
  return codesFit(passages, dimensions, codesMb) ? { memory: parts.memory(wholeFile(path, bytes)) } : { path }
}

/**
 * @param known what another thread read of the same artifact. @param codesMb codes of so many MiB are kept in memory.
 * @throws Error, with every file closed, if one does not match the verified manifest.
 */
export function openIndex(
  ref: ArtifactRef,
  known?: SharedParts,
  codesMb: number = BOUNDS.residentCodesMbDefault,
): IndexReader {
  const parts = createResidentParts(known)
  const { folder, passages, dimensions } = ref
  using opening = new DisposableStack()
  const held = <Reader extends { close(): void }>(reader: Reader): Reader =>
    opening.adopt(reader, (opened) => opened.close())
  const vectors = held(openRowFile(join(folder, 'vectors.f32'), dimensions))
  const codes = held(openCodes(codesSource(ref, parts, codesMb), passages, dimensions))
  const records = held(openPassagesReader(folder, passages, parts))
  const facets = held(openFacetsReader(folder, passages, ref.documents, parts))
  const lexical = held(openLexicalReader(folder, passages, parts))
  const forward = held(openForwardReader(folder, passages, parts))
  const references = held(openReferencesReader(folder))
  const index = {
    passages,
    dimensions,
    hashedWords: ref.hashedWords,
    cosines: ref.cosines,
    vectors,
    codes,
    cells: ref.cells && held(openCells(folder, passages, dimensions, ref.cells, parts)),
    facets,
    rows: readRowTable(folder, passages, parts),
    lexical,
    forward,
    references,
    passage: (row: number) => records.passage(row),
    shared: parts.shared,
  }
  const files = opening.move()
  return { ...index, close: () => files.dispose() }
}
