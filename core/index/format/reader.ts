import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { bitsetWords, facetsLayout, facetsSchema } from './layout.ts'
import type { Facets, Reach } from './layout.ts'
import type { Manifest } from './manifest.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { ownBytes, readFully } from './file-reader.ts'
import { openReferencesReader } from '#core/index/references/reader.ts'
import type { ReferencesReader } from '#core/index/references/reader.ts'
import { readRowTable } from '#core/index/passages/row-table.ts'
import type { RowTable } from '#core/index/passages/row-table.ts'
import { createFilterCache } from '#search-node/search/filter-bitset.ts'
import type { FilterCache } from '#search-node/search/filter-bitset.ts'
import { readCells } from '#search-node/search/candidates/vectors/cells.ts'
import type { Cells } from '#search-node/search/candidates/vectors/cells.ts'
import { readDocumentTable } from '#core/index/facets/documents-reader.ts'
import type { DocumentTable } from '#core/index/facets/documents-reader.ts'
import { openForwardReader } from '#core/index/lexical/forward-reader.ts'
import type { ForwardReader } from '#core/index/lexical/forward-reader.ts'
import { openLexicalReader } from '#core/index/lexical/reader.ts'
import type { LexicalReader } from '#core/index/lexical/reader.ts'
import { openRowFile } from '#core/index/vectors/row-file.ts'
import type { RowFile } from '#core/index/vectors/row-file.ts'

/** A verified artifact as the event loop names it to a thread. */
export interface ArtifactRef {
  readonly projectionId: string
  readonly folder: string
  readonly passages: number
  readonly dimensions: number
  readonly documents: number
  readonly head: number
  readonly cells: number
  readonly reach: Reach
}

export function artifactRef(
  folder: string,
  { projection_id, passages, documents, embedding, index }: Manifest,
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
  }
}

/** The facets of all rows; see `core/index/format/layout.ts`. */
export interface FacetTable {
  readonly facets: Facets
  /** One bitset a value, in the order languages, jurisdictions, subjects, statuses; read when it is asked for. */
  readonly bitset: (value: number) => Uint32Array
  readonly documents: DocumentTable
  readonly inForceFrom: Int32Array
  readonly inForceTo: Int32Array
}

/** One thread's view of one artifact. */
export interface IndexReader {
  readonly passages: number
  readonly dimensions: number
  readonly cells: Cells
  /** float32. */
  readonly vectors: RowFile
  /** int8, by slot. */
  readonly heads: RowFile
  readonly facets: FacetTable
  readonly rows: RowTable
  readonly lexical: LexicalReader
  readonly forward: ForwardReader
  readonly references: ReferencesReader
  readonly allowedCache: FilterCache
  passage(row: number): PassageRecord
  close(): void
}

/** @throws Error if a file is not what the verified manifest says. */
export function openIndex(ref: ArtifactRef): IndexReader {
  const { folder, passages, dimensions } = ref
  const vectors = openRowFile(join(folder, 'vectors.f32'), dimensions * 4)
  const heads = openRowFile(join(folder, 'vectors.i8'), ref.head)
  const lines = openPassages(folder)
  const facets = openFacets(ref)
  const lexical = openLexicalReader(folder, passages)
  const forward = openForwardReader(folder, passages)
  const references = openReferencesReader(folder)
  return {
    passages,
    dimensions,
    cells: readCells(ownBytes(join(folder, 'cells.bin')), passages, dimensions, ref),
    vectors,
    heads,
    facets: facets.table,
    rows: readRowTable(ownBytes(join(folder, 'rows.bin')), passages),
    lexical,
    forward,
    references,
    allowedCache: createFilterCache(),
    passage: lines.passage,
    close() {
      vectors.close()
      heads.close()
      lines.close()
      facets.close()
      lexical.close()
      forward.close()
      references.close()
    },
  }
}

function openPassages(folder: string): Pick<IndexReader, 'passage' | 'close'> {
  const offsets = new Float64Array(ownBytes(join(folder, 'passages.offsets')))
  const file = openSync(join(folder, 'passages.jsonl'), 'r')
  return {
    passage(row) {
      const from = offsets[row] ?? 0
      const line = Buffer.allocUnsafe((offsets[row + 1] ?? 0) - from)
      readFully(file, line, from)
      // Hashed and signed by the build, which parsed every record: not parsed again.
      return JSON.parse(line.toString('utf8')) as PassageRecord
    },
    close: () => closeSync(file),
  }
}

function openFacets({ folder, passages, documents }: ArtifactRef): {
  readonly table: FacetTable
  readonly close: () => void
} {
  const facets = facetsSchema.parse(JSON.parse(readFileSync(join(folder, 'facets.json'), 'utf8')))
  const { fromOffset, toOffset } = facetsLayout(passages, facets)
  const file = openSync(join(folder, 'facets.bin'), 'r')
  const words = bitsetWords(passages)
  const part = (position: number, words32: number): ArrayBuffer => {
    const bytes = new Uint8Array(words32 * 4)
    readFully(file, bytes, position)
    return bytes.buffer
  }
  const table: FacetTable = {
    facets,
    bitset: (value) => new Uint32Array(part(value * words * 4, words)),
    documents: readDocumentTable(ownBytes(join(folder, 'documents.bin')), documents),
    inForceFrom: new Int32Array(part(fromOffset, passages)),
    inForceTo: new Int32Array(part(toOffset, passages)),
  }
  return { table, close: () => closeSync(file) }
}
