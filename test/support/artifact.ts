import { generateKeyPairSync } from 'node:crypto'
import { pathToFileURL } from 'node:url'
import { OPEN_END_DAY, dayNumber } from '#core/index/facets/layout.ts'
import type { FoundPassage } from '#core/domain/search.ts'
import { ARTIFACT_FILES, ARTIFACT_FORMAT, manifestSchema } from '#core/index/format/manifest.ts'
import type { EmbeddingSpace, Manifest } from '#core/index/format/manifest.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'
import type { ActEntry } from '#core/index/references/layout.ts'
import type { IndexReader, VectorsReader } from '#core/index/format/reader.ts'
import { rowOrder } from '#core/index/format/row-order.ts'
import { createArtifactStore } from '#core/index/format/store.ts'
import { writeArtifact } from '#core/index/format/writer.ts'
import type { ArtifactRow, WrittenArtifact } from '#core/index/format/writer.ts'
import { chunkId, derivedUuid } from '#core/platform/ids.ts'
import { spaceOf } from '#test/support/embedding-space.ts'

/** Numbers in [0, 1) that follow from a seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** A signing pair as the configuration holds it: PKCS #8 and SPKI, DER. */
export function signingKeys(): { readonly privateKeyDer: Buffer; readonly publicKeyDer: Buffer } {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  return {
    privateKeyDer: privateKey.export({ format: 'der', type: 'pkcs8' }),
    publicKeyDer: publicKey.export({ format: 'der', type: 'spki' }),
  }
}

export interface PassageTraits {
  readonly language?: string
  readonly jurisdiction?: string
  readonly subjects?: readonly string[]
  readonly status?: PassageRecord['metadata']['verification_status']
  readonly inForceFrom?: string
  readonly inForceTo?: string | null
  readonly text?: string
  readonly heading?: string
  readonly references?: readonly string[]
  /** A key of its own if absent; the revisions of one provision share it. */
  readonly provision?: string
  /** Tells the revisions of one document apart. */
  readonly revision?: string
}

/**
 * Passage number `n` of an invented corpus: ten passages a document, one revision a document unless the traits say
 * otherwise.
 */
export function testPassage(n: number, traits: PassageTraits = {}): PassageRecord {
  const documentId = derivedUuid('test document', String(Math.floor(n / 10)))
  const text =
    traits.text ??
    `Passage ${n}. The firm keeps a record of rule ${n} and gives it to the authority on request. – §${n}`
  return {
    chunk_id: chunkId([documentId, String(n)], text),
    text,
    document: {
      id: documentId,
      revision_id: derivedUuid('test revision', `${documentId}${traits.revision ?? ''}`),
      title: `Rulebook ${Math.floor(n / 10)}`,
      authority: 'Test Authority',
      canonical_url: `https://rules.example/${Math.floor(n / 10)}`,
      published_at: '2024-01-01T00:00:00.000Z',
      effective_at: '2024-02-01T00:00:00.000Z',
    },
    citation: {
      label: `Rule ${n}`,
      source_anchor: `https://rules.example/${Math.floor(n / 10)}#r${n}`,
      source_snapshot_id: derivedUuid('test snapshot', '1'),
    },
    metadata: {
      language: traits.language ?? 'en',
      jurisdiction: traits.jurisdiction ?? 'XA',
      verification_status: traits.status ?? 'verified',
    },
    subjects: [...(traits.subjects ?? ['general'])],
    in_force_from: traits.inForceFrom ?? '2024-02-01',
    in_force_to: traits.inForceTo ?? null,
    position: { ordinal: n % 10, document_passages: 10 },
    source_id: `doc-${Math.floor(n / 10)}#r${n}`,
    heading: traits.heading ?? `Rulebook ${Math.floor(n / 10)}`,
    references: [...(traits.references ?? [])],
    provision: traits.provision ?? `${documentId}#r${n}`,
  }
}

/** A passage as a search result shows it. */
export function shownPassage(record: PassageRecord): Omit<FoundPassage, 'score' | 'row' | 'named'> {
  const { document, citation, metadata, position } = record
  return {
    chunkId: record.chunk_id,
    sourceId: record.source_id,
    text: record.text,
    document: {
      id: document.id,
      revisionId: document.revision_id,
      title: document.title,
      authority: document.authority,
      canonicalUrl: document.canonical_url,
      publishedAt: document.published_at,
      effectiveAt: document.effective_at,
    },
    citation: {
      label: citation.label,
      sourceAnchor: citation.source_anchor,
      sourceSnapshotId: citation.source_snapshot_id,
    },
    metadata: {
      language: metadata.language,
      jurisdiction: metadata.jurisdiction,
      subjects: record.subjects,
      verificationStatus: metadata.verification_status,
    },
    position: { ordinal: position.ordinal, documentPassages: position.document_passages },
  }
}

export interface TestCorpusOptions {
  readonly rows: number
  readonly dimensions: number
  readonly seed: number
  /** Vectors lie around this many centres; neighbours of a query then share a centre, as texts on one topic do. */
  readonly clusters?: number
  /**
   * Width of what a vector lies in around its centre, in every direction; centres lie in 1. Up to 1, rows divide into
   * clusters.
   */
  readonly spread?: number
  readonly traits?: (n: number, cluster: number) => PassageTraits
}

/** Rows in row order, with clustered unit vectors. */
export function testRows({
  rows,
  dimensions,
  seed,
  clusters = 50,
  spread = 1.2,
  traits = () => ({}),
}: TestCorpusOptions): ArtifactRow[] {
  const random = seededRandom(seed)
  const centres = Float32Array.from({ length: clusters * dimensions }, () => random() - 0.5)
  const made = Array.from({ length: rows }, (_, n): ArtifactRow => {
    const cluster = Math.floor(random() * clusters)
    const vector = Float32Array.from(
      { length: dimensions },
      (_unused, d) => (centres[cluster * dimensions + d] ?? 0) + (random() - 0.5) * spread,
    )
    return { record: testPassage(n, traits(n, cluster)), vector: unit(vector) }
  })
  return made.sort((a, b) => rowOrder(a.record, b.record))
}

export function unit(vector: Float32Array): Float32Array {
  const length = Math.hypot(...vector)
  return vector.map((value) => value / length)
}

/** A query near row `row`, so that it has true neighbours. */
export function queryNear(rows: readonly ArtifactRow[], row: number, random: () => number): Float32Array {
  const near = rows[row]
  if (near === undefined) throw new Error(`no row ${row}`)
  return unit(near.vector.map((value) => value + (random() - 0.5) * 0.1))
}

export interface TestArtifact extends WrittenArtifact {
  readonly folder: string
  readonly versionId: string
  readonly rows: readonly ArtifactRow[]
}

export interface TestArtifactOptions {
  /** Folder of the artifact store. */
  readonly store: string
  readonly rows: readonly ArtifactRow[]
  readonly privateKeyDer: Buffer
  readonly name?: string
  readonly acts?: readonly ActEntry[]
  /** Sample queries of unit length; vectors of the first rows if absent. */
  readonly queries?: readonly Float32Array[]
  /** A space without a model's name if absent; null: the version has no vectors. */
  readonly embedding?: EmbeddingSpace | null
}

const SAMPLE_QUERIES = 20

/** Writes a small artifact into a store through the real writer. */
export async function buildTestArtifact({
  store,
  rows,
  privateKeyDer,
  name = 'version',
  acts = [],
  queries = rows.slice(0, SAMPLE_QUERIES).map(({ vector }) => vector),
  embedding = spaceOf(rows[0]?.vector.length ?? 0),
}: TestArtifactOptions): Promise<TestArtifact> {
  const versionId = derivedUuid('test', name)
  const folder = createArtifactStore(pathToFileURL(store).href).artifactFolder(versionId)
  const written = await writeArtifact({
    artifactFolder: folder,
    versionId,
    embedding: embedding ?? undefined,
    snapshotsDigest: '0'.repeat(64),
    passages: rows.length,
    rows,
    acts,
    sampleQueries: () => Promise.resolve(queries),
    privateKeyDer,
  })
  return { ...written, folder, versionId, rows }
}

/** The vectors of a version that has them. */
export function vectorsOf({ vectors }: Pick<IndexReader, 'vectors'>): VectorsReader {
  if (vectors === undefined) throw new Error('the version has no vectors')
  return vectors
}

export interface TestFilters {
  /** Empty: any. */
  readonly documents: readonly string[]
  readonly languages: readonly string[]
  readonly jurisdictions: readonly string[]
  readonly subjects: readonly string[]
  readonly anySubject: boolean
  readonly verificationStatuses: readonly string[]
  readonly inForceOn: string
}

/** The definition of a filter, row by row: what every search plan must agree with. */
export function allows(filters: TestFilters, record: PassageRecord): boolean {
  if (
    !filters.languages.includes(record.metadata.language) ||
    !filters.jurisdictions.includes(record.metadata.jurisdiction)
  )
    return false
  if (!filters.verificationStatuses.includes(record.metadata.verification_status)) return false
  if (filters.documents.length > 0 && !filters.documents.includes(record.document.id)) return false
  if (!filters.anySubject && !record.subjects.some((subject) => filters.subjects.includes(subject))) return false
  if (filters.inForceOn === '') return true
  const day = dayNumber(filters.inForceOn)
  return (
    dayNumber(record.in_force_from) <= day &&
    day < (record.in_force_to === null ? OPEN_END_DAY : dayNumber(record.in_force_to))
  )
}

/**
 * The k best allowed passages by brute force, with their cosines in double precision, descending, then by chunk id.
 */
export function bruteForce(
  rows: readonly ArtifactRow[],
  query: Float32Array,
  filters: TestFilters,
  k: number,
): { chunk_id: string; score: number }[] {
  const allowed = rows.filter(({ record }) => allows(filters, record))
  const scored = allowed.map(({ record, vector }) => ({ chunk_id: record.chunk_id, score: cosine(vector, query) }))
  return scored.sort((a, b) => b.score - a.score || (a.chunk_id < b.chunk_id ? -1 : 1)).slice(0, k)
}

function cosine(a: Float32Array, b: Float32Array): number {
  let dot = 0
  for (let d = 0; d < a.length; d++) dot += (a[d] ?? 0) * (b[d] ?? 0)
  return dot
}

/** What a verified manifest of seven passages says, for nodes that are tested without files. */
export function testManifest(versionId: string): Manifest {
  const file = { bytes: 1, sha256: 'a'.repeat(64) }
  return manifestSchema.parse({
    format: ARTIFACT_FORMAT,
    version_id: versionId,
    passages: 7,
    documents: 1,
    embedding: spaceOf(8),
    clusters: { count: 1, connectivity: 64, nprobe: 1, deviations: 4 },
    cosines: { mean: Buffer.alloc(32).toString('base64'), deviation: 0.1 },
    snapshots_digest: 'a'.repeat(64),
    files: Object.fromEntries(ARTIFACT_FILES.map((name) => [name, file])),
  })
}
