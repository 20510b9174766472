import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import {
  ARTIFACT_FILES,
  ARTIFACT_FORMAT,
  MANIFEST_FILE,
  SIGNATURE_FILE,
  manifestSchema,
  signManifest,
} from '#core/index/format/manifest.ts'
import type { EngineDescription, UnsignedArtifact } from '#core/index/engine/description.ts'
import type { EmbeddingSpace, Manifest } from '#core/index/format/manifest.ts'
import type { IndexReader, VectorsReader } from '#core/index/format/reader.ts'
import { createArtifactStore, type ArtifactStore } from '#core/index/format/store.ts'
import { writeArtifact, type ArtifactRow, type WrittenArtifact } from '#core/index/format/writer.ts'
import type { SourceFacts } from '#core/index/passages/sources.ts'
import type { PlacedExpansion } from '#core/index/query-expansions/writer.ts'
import type { ActEntry } from '#core/index/references/layout.ts'
import { sha256 } from '#core/platform/digest.ts'
import { derivedUuid } from '#core/platform/ids.ts'
import { signingKeys } from './secrets.ts'

export interface TestArtifact extends WrittenArtifact {
  readonly folder: string
  readonly versionId: string
  readonly rows: readonly ArtifactRow[]
}

export interface TestArtifactOptions {
  /** Folder of the artifact store. */
  readonly store: string
  readonly rows: readonly ArtifactRow[]
  /** A new key if absent. */
  readonly privateKeyDer?: Buffer
  readonly name?: string
  readonly acts?: readonly ActEntry[]
  /** Sample queries of unit length; vectors of the first rows if absent. */
  readonly queries?: readonly Float32Array[]
  /** A space without a model's name if absent; null: the version has no vectors. */
  readonly embedding?: EmbeddingSpace | null
  /** What it says of its snapshots; `sourcesOf` if absent. */
  readonly sources?: readonly SourceFacts[]
  /** None if absent. */
  readonly queryExpansions?: readonly PlacedExpansion[]
  /** Loads the version into an index of an engine; see `ArtifactInput`. */
  readonly loadEngine?: (artifact: UnsignedArtifact, versionId: string) => Promise<EngineDescription>
}

const SAMPLE_QUERIES = 20

/** Writes a small artifact into a store through the real writer. */
export async function buildTestArtifact({
  store,
  rows,
  privateKeyDer = signingKeys().privateKeyDer,
  name = 'version',
  acts = [],
  queries = rows.slice(0, SAMPLE_QUERIES).map(({ vector }) => vector),
  embedding = spaceOf(rows[0]?.vector.length ?? 0),
  queryExpansions = [],
  sources = sourcesOf(rows.map(({ record }) => record.citation.source_snapshot_id)),
  loadEngine,
}: TestArtifactOptions): Promise<TestArtifact> {
  const versionId = derivedUuid('test', name)
  const folder = storeIn(store).artifactFolder(versionId)
  const written = await writeArtifact({
    artifactFolder: folder,
    versionId,
    embedding: embedding ?? undefined,
    snapshotsDigest: '0'.repeat(64),
    sources,
    passages: rows.length,
    rows,
    acts,
    queryExpansions,
    sampleQueries: () => Promise.resolve(queries),
    ...(loadEngine === undefined ? {} : { loadEngine: (artifact) => loadEngine(artifact, versionId) }),
    privateKeyDer,
  })
  return { ...written, folder, versionId, rows }
}

/** The artifact store in a folder. */
export function storeIn(folder: string): ArtifactStore {
  return createArtifactStore(pathToFileURL(folder).href)
}

/** What an artifact says of snapshots. */
export function sourcesOf(ids: readonly string[]): readonly SourceFacts[] {
  return [...new Set(ids)].map((id) => ({
    id,
    source_name: `${id}.md`,
    media_type: 'text/markdown',
    sha256: sha256(id).toString('hex'),
    bytes: 1_000,
    captured_at: '2024-01-01T00:00:00.000Z',
    captured_by: 'operator import',
    licence: null,
  }))
}

/** The vectors of a version that has them. */
export function vectorsOf({ vectors }: Pick<IndexReader, 'vectors'>): VectorsReader {
  if (vectors === undefined) throw new Error('the version has no vectors')
  return vectors
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
    merkle_root: 'a'.repeat(64),
    files: Object.fromEntries(
      ARTIFACT_FILES.filter((name) => !name.startsWith('search-questions')).map((name) => [name, file]),
    ),
  })
}

/** A space without prefixes. */
export function spaceOf(dimensions: number, change: Partial<EmbeddingSpace> = {}): EmbeddingSpace {
  return {
    provider: 'openai',
    model: 'test',
    dimensions,
    query_prefix: '',
    passage_prefix: '',
    requests_dimensions: false,
    ...change,
  }
}

/** The embedding space of a version that is known to have vectors. @throws Error if it has none. */
export function spaceOfVectors({ embedding }: Pick<Manifest, 'embedding'>): EmbeddingSpace {
  if (embedding === undefined) throw new Error('the version has no vectors')
  return embedding
}

/** Writes the text of a manifest and its signature into a folder. @returns the digest of the manifest. */
export function writeSignedManifest(folder: string, text: string, privateKeyDer: Buffer): Buffer {
  const bytes = Buffer.from(text)
  writeFileSync(join(folder, MANIFEST_FILE), bytes)
  writeFileSync(join(folder, SIGNATURE_FILE), signManifest(bytes, privateKeyDer))
  return sha256(bytes)
}
