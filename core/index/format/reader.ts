import { join } from 'node:path'
import { openFacetsReader } from '#core/index/facets/reader.ts'
import { openForwardReader } from '#core/index/lexical/forward-reader.ts'
import { openNgrams } from '#core/index/ngrams/reader.ts'
import { openLexicalReader } from '#core/index/lexical/reader.ts'
import { openPassagesReader } from '#core/index/passages/reader.ts'
import { readRowTable } from '#core/index/passages/row-table.ts'
import { openReferencesReader } from '#core/index/references/reader.ts'
import { openSq4, type Sq4Reader, type Sq4Source } from '#core/index/vectors/sq4-reader.ts'
import type { CosineStatistics } from '#core/index/vectors/cosine-statistics.ts'
import { openIvf, type IvfReader } from '#core/index/vectors/ivf-reader.ts'
import { sq4FitsIn, sq4Layout } from '#core/index/vectors/layout.ts'
import { openRows, type RowFile } from '#core/index/vectors/row-file.ts'
import { openQueryExpansions } from '#core/index/query-expansions/reader.ts'
import { INDEX_BOUNDS } from '#core/index/bounds.ts'
import { createResidentParts, wholeFile } from '#core/index/storage/resident-parts.ts'
import type { ResidentParts, SharedParts } from '#core/index/storage/resident-parts.ts'
import type { Manifest } from './manifest.ts'

/** Reference to a verified artifact that the event loop passes to a thread. */
export type ArtifactRef = ReturnType<typeof artifactRef>

export function artifactRef(folder: string, manifest: Manifest) {
  const { version_id, passages, documents, embedding, clusters, cosines, search_questions, engine, files } = manifest
  return {
    versionId: version_id,
    folder,
    passages,
    documents,
    /** SHA-256 of `passages.sha256`, lower-case hex. */
    passageDigests: files['passages.sha256'].sha256,
    /** Undefined for a version without vectors; `ivf` is undefined where an engine searches them. */
    vectors: embedding && cosines && { dimensions: embedding.dimensions, ivf: clusters, cosines },
    /** Number of query expansions; undefined: none. */
    queryExpansions: search_questions,
    /** Undefined: the version is searched in its own files. */
    engine,
  }
}

/** One thread's view of one artifact: a reader for each of its parts. */
export type IndexReader = ReturnType<typeof openIndex>

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
  { dimensions, cosines, ivf }: NonNullable<ArtifactRef['vectors']>,
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
export function openIndex(ref: ArtifactRef, known?: SharedParts, sq4Mb: number = INDEX_BOUNDS.residentSq4MbDefault) {
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
    /** Undefined for a version without vectors. */
    vectors,
    facets,
    rows: readRowTable(folder, passages, parts),
    lexical,
    forward,
    ngrams: held(openNgrams(folder, passages, records.passage, parts)),
    references,
    /** Undefined for a version without query expansions. */
    queryExpansions,
    passage: (row: number) => records.passage(row),
    passageDigest: (row: number) => records.digest(row),
    /** Memory of the artifact that threads share. */
    shared: parts.shared,
  }
  const files = opening.move()
  return { ...index, /** Idempotent. */ close: () => files.dispose() }
}
