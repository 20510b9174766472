import { join } from 'node:path'
import type { EngineDescription } from '#core/index/engine/description.ts'
import { openFacetsReader, type FacetsReader } from '#core/index/facets/reader.ts'
import { openForwardReader, type ForwardReader } from '#core/index/lexical/forward-reader.ts'
import { readNgrams, type NgramsReader } from '#core/index/ngrams/reader.ts'
import { openLexicalReader, type LexicalReader } from '#core/index/lexical/reader.ts'
import { openPassagesReader, type PassagesReader } from '#core/index/passages/reader.ts'
import { readRowTable, type RowTable } from '#core/index/passages/row-table.ts'
import { openReferencesReader, type ReferencesReader } from '#core/index/references/reader.ts'
import { openSq4, type Sq4Reader, type Sq4Source } from '#core/index/vectors/sq4-reader.ts'
import type { CosineStatistics } from '#core/index/vectors/cosine-statistics.ts'
import type { IvfDescription } from '#core/index/vectors/ivf-layout.ts'
import { openIvf, type IvfReader } from '#core/index/vectors/ivf-reader.ts'
import { sq4FitsIn, sq4Layout } from '#core/index/vectors/layout.ts'
import { openRows, type RowFile } from '#core/index/vectors/row-file.ts'
import { openQueryExpansions, type QueryExpansionsReader } from '#core/index/query-expansions/reader.ts'
import { INDEX_BOUNDS } from '#core/index/bounds.ts'
import { createResidentParts, wholeFile } from '#core/index/storage/resident-parts.ts'
import type { ResidentParts, SharedParts } from '#core/index/storage/resident-parts.ts'
import type { Manifest } from './manifest.ts'

/** Reference to a verified artifact that the event loop passes to a thread. */
export interface ArtifactRef {
  readonly versionId: string
  readonly folder: string
  readonly passages: number
  readonly documents: number
  /** SHA-256 of `passages.sha256`, lower-case hex. */
  readonly passageDigests: string
  /** Undefined for a version without vectors. */
  readonly vectors: VectorsRef | undefined
  /** Number of query expansions; undefined: none. */
  readonly queryExpansions: number | undefined
  /** Undefined: the version is searched in its own files. */
  readonly engine: EngineDescription | undefined
}

export interface VectorsRef {
  readonly dimensions: number
  /** Undefined: the version has an engine, and no vectors to be searched in. */
  readonly ivf: IvfDescription | undefined
  readonly cosines: CosineStatistics
}

export function artifactRef(folder: string, manifest: Manifest): ArtifactRef {
  const { version_id, passages, documents, embedding, clusters, cosines, search_questions, engine, files } = manifest
  return {
    versionId: version_id,
    folder,
    passages,
    documents,
    passageDigests: files['passages.sha256'].sha256,
    vectors: embedding && cosines && { dimensions: embedding.dimensions, ivf: clusters, cosines },
    queryExpansions: search_questions,
    engine,
  }
}

/** One thread's view of one artifact: a reader for each of its parts. */
export interface IndexReader {
  readonly passages: number
  /** Undefined for a version without vectors. */
  readonly vectors: VectorsReader | undefined
  readonly facets: FacetsReader
  readonly rows: RowTable
  readonly lexical: LexicalReader
  readonly forward: ForwardReader
  readonly ngrams: NgramsReader
  readonly references: ReferencesReader
  /** Undefined for a version without query expansions. */
  readonly queryExpansions: QueryExpansionsReader | undefined
  readonly passage: PassagesReader['passage']
  readonly passageDigest: PassagesReader['digest']
  /** Memory of the artifact that threads share. */
  readonly shared: SharedParts
  /** Idempotent. */
  close(): void
}

export interface VectorsReader {
  readonly dimensions: number
  readonly cosines: CosineStatistics
  /** float32. */
  readonly exact: RowFile
  /** Not of a version with an engine. */
  readonly sq4: Sq4Reader
  readonly ivf: IvfReader
}

/** Keeps what is opened until the whole artifact is closed. */
type Hold = <Reader extends { close(): void }>(reader: Reader) => Reader

function openVectors(
  { folder, passages }: ArtifactRef,
  { dimensions, cosines, ivf }: VectorsRef,
  parts: ResidentParts,
  sq4Mb: number,
  held: Hold,
): VectorsReader {
  const exact = held(openRows({ path: join(folder, 'vectors.f32'), rows: passages, dimensions }, parts))
  if (ivf === undefined) return withoutSearch({ dimensions, cosines, exact })
  return {
    dimensions,
    cosines,
    exact,
    sq4: held(openSq4(sq4Source(folder, passages, dimensions, parts, sq4Mb), passages, dimensions)),
    ivf: held(openIvf(folder, passages, dimensions, ivf, parts)),
  }
}

/** Of a version with an engine, the artifact holds nothing that is searched by vector. */
function withoutSearch(vectors: Pick<VectorsReader, 'dimensions' | 'cosines' | 'exact'>): VectorsReader {
  return {
    ...vectors,
    get sq4(): never {
      throw new Error('a version with an engine is not searched in its own files')
    },
    get ivf(): never {
      throw new Error('a version with an engine is not searched in its own files')
    },
  }
}

/** SQ4 vectors that fit are kept in memory: of others, each search copies pieces from the page cache. */
function sq4Source(
  folder: string,
  passages: number,
  dimensions: number,
  parts: ResidentParts,
  sq4Mb: number,
): Sq4Source {
  const path = join(folder, 'vectors.sq4')
  const { bytes } = sq4Layout(passages, dimensions)
  return sq4FitsIn(passages, dimensions, sq4Mb) ? { memory: parts.memory(wholeFile(path, bytes)) } : { path }
}

/**
 * @param known what another thread read of the same artifact. @param sq4Mb SQ4 vectors of so many MiB are kept in
 * memory.
 * @throws Error, with every file closed, if one does not match the verified manifest.
 */
export function openIndex(
  ref: ArtifactRef,
  known?: SharedParts,
  sq4Mb: number = INDEX_BOUNDS.residentSq4MbDefault,
): IndexReader {
  const parts = createResidentParts(known)
  const { folder, passages } = ref
  using opening = new DisposableStack()
  const held: Hold = (reader) => opening.adopt(reader, (opened) => opened.close())
  const vectors = ref.vectors && openVectors(ref, ref.vectors, parts, sq4Mb, held)
  const records = held(openPassagesReader(folder, passages, ref.passageDigests, parts))
  const facets = held(openFacetsReader(folder, passages, ref.documents, parts))
  const lexical = held(openLexicalReader(folder, passages, parts, 'lexical', ref.engine === undefined))
  const forward = held(openForwardReader(folder, passages, parts))
  const references = held(openReferencesReader(folder))
  const queryExpansions =
    ref.queryExpansions === undefined ? undefined : held(openQueryExpansions(folder, ref.queryExpansions, parts))
  const index = {
    passages,
    vectors,
    facets,
    rows: readRowTable(folder, passages, parts),
    lexical,
    forward,
    ngrams: readNgrams(folder, passages, parts),
    references,
    queryExpansions,
    passage: (row: number) => records.passage(row),
    passageDigest: (row: number) => records.digest(row),
    shared: parts.shared,
  }
  const files = opening.move()
  return { ...index, close: () => files.dispose() }
}
