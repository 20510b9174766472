import { randomBytes } from 'node:crypto'
import { access, mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createAnalyzer } from '#core/index/analysis/analyzer.ts'
import { ArtifactError } from '#core/index/artifact-error.ts'
import type { EngineDescription, UnsignedArtifact } from '#core/index/engine/description.ts'
import { createDocumentsWriter } from '#core/index/facets/documents.ts'
import { createFacetsWriter } from '#core/index/facets/writer.ts'
import { canonicalJson, sha256 } from '#core/platform/digest.ts'
import { merkleRoot } from '#core/platform/merkle.ts'
import { createPause } from '#core/platform/pause.ts'
import { renameDurably, syncPath } from '#core/platform/durable-file.ts'
import { openHashedFile, writeHashed, type HashedFile } from '#core/platform/hashed-file.ts'
import {
  ARTIFACT_FORMAT,
  MANIFEST_FILE,
  SIGNATURE_FILE,
  manifestSchema,
  manifestText,
  publicKeyOf,
  signManifest,
  readSignedManifest,
} from './manifest.ts'
import type { Description } from './description.ts'
import type { ArtifactFile, EmbeddingSpace, Manifest } from './manifest.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { createForwardWriter } from '#core/index/lexical/forward-writer.ts'
import { createNgramsWriter, writeNgrams } from '#core/index/ngrams/writer.ts'
import { createLexicalWriter } from '#core/index/lexical/writer.ts'
import type { ActEntry } from '#core/index/references/layout.ts'
import { createReferencesWriter } from '#core/index/references/writer.ts'
import { createSourcesWriter, type DerivedFields, type SourceFacts } from '#core/index/passages/sources.ts'
import { createPassagesWriter } from '#core/index/passages/writer.ts'
import { createRowTableWriter } from '#core/index/passages/row-table.ts'
import { openVectorsWriter, type VectorsWriter } from '#core/index/vectors/writer.ts'
import { writeQueryExpansions, type PlacedExpansion } from '#core/index/query-expansions/writer.ts'
import { copyUnit, createRowChecks } from './row-checks.ts'
import { verifyArtifact } from './verify.ts'

export interface PassageRow {
  readonly record: PassageRecord
}

export interface ArtifactRow extends PassageRow {
  /** Any positive length; stored at unit length. */
  readonly vector: Float32Array
}

export interface ArtifactInput {
  /** The final folder, `ArtifactStore.artifactFolder(versionId)`. */
  readonly artifactFolder: string
  readonly versionId: string
  /** Undefined: a version without vectors. */
  readonly embedding: EmbeddingSpace | undefined
  /**
   * Returns vectors of sample queries, which measure the cosines; at least one where there is an embedding space. Not
   * called for an artifact that is in place.
   */
  readonly sampleQueries?: () => Promise<readonly Float32Array[]>
  readonly snapshotsDigest: string
  /** Every snapshot that a row names. */
  readonly sources: readonly SourceFacts[]
  readonly derived?: DerivedFields
  readonly passages: number
  /** In `rowOrder`; with vectors if there is an embedding space. */
  readonly rows: AsyncIterable<ArtifactRow | PassageRow> | Iterable<ArtifactRow | PassageRow>
  /** The acts of the corpus with their names. */
  readonly acts: readonly ActEntry[]
  /** What a rewriter is told of the version; absent: it has none. */
  readonly description?: Description | undefined
  readonly asOf?: string | undefined
  /** Rows ascending; absent or empty: a version without query expansions. */
  readonly queryExpansions?: readonly PlacedExpansion[]
  /**
   * Loads the rows into an index of an engine; called once all files are written. Absent: a version that is searched in
   * its own files.
   */
  readonly loadEngine?: (artifact: UnsignedArtifact) => Promise<EngineDescription>
  /** Ed25519, PKCS #8. */
  readonly privateKeyDer: Buffer
  /** Keys under which an artifact that is already in place is kept; the one of the private key if absent. SPKI. */
  readonly publicKeysDer?: readonly Uint8Array[]
  readonly onProgress?: (done: number, total: number) => void
  /** Abort is checked between batches. */
  readonly signal?: AbortSignal
}

export interface WrittenArtifact {
  readonly manifest: Manifest
  /** SHA-256 of manifest.json. */
  readonly manifestDigest: Buffer
}

const BATCH_ROWS = 1_000

/**
 * Writes an artifact under a temporary name, makes it durable and renames it into place, so a reader never sees a part
 * of it. A valid artifact that is already in place is kept.
 * @throws ArtifactError for an invalid row, a wrong row count, or a damaged artifact already in place.
 */
export async function writeArtifact(input: ArtifactInput): Promise<WrittenArtifact> {
  if (await exists(input.artifactFolder)) return keepExisting(input)
  const folder = `${input.artifactFolder}.${randomBytes(6).toString('hex')}.tmp`
  await mkdir(folder, { recursive: true })
  try {
    const written = await writeFolder(input, folder)
    await syncPath(folder)
    await renameDurably(folder, input.artifactFolder)
    return written
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    if (await finishedElsewhere(error, input.artifactFolder)) return keepExisting(input)
    throw error
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}

/** Two builds of one version may race. The second finds a non-empty folder in place. */
async function finishedElsewhere(error: unknown, folder: string): Promise<boolean> {
  return (
    error instanceof Error &&
    'code' in error &&
    (error.code === 'ENOTEMPTY' || error.code === 'EEXIST') &&
    (await exists(folder))
  )
}

async function keepExisting(input: ArtifactInput): Promise<WrittenArtifact> {
  const publicKeysDer = input.publicKeysDer ?? [publicKeyOf(input.privateKeyDer)]
  const { manifest, digest } = await readSignedManifest(input.artifactFolder, publicKeysDer, 'unrecorded')
  await verifyArtifact(input.artifactFolder, publicKeysDer, digest)
  if (manifest.version_id !== input.versionId)
    throw new ArtifactError(
      'The folder of this version holds the artifact of another; move it away before building again.',
    )
  return { manifest, manifestDigest: digest }
}

async function writeFolder(input: ArtifactInput, folder: string): Promise<WrittenArtifact> {
  const pause = createPause(input.signal)
  const { embedding, queryExpansions = [] } = input
  await using vectors =
    embedding && (await openVectorsWriter({ folder, rows: input.passages, dimensions: embedding.dimensions, pause }))
  await using lines = await openHashedFile(join(folder, 'passages.jsonl'))
  await using tokens = await openHashedFile(join(folder, 'forward.tokens'))
  await using ngramWords = await openHashedFile(join(folder, 'grams.words'))
  const rows = await writeRows(input, { vectors, lines, tokens, ngramWords }, pause)
  const { passages, facets, documents, table, lexical, forward, ngrams, references, sources } = rows
  const queries = (await input.sampleQueries?.()) ?? []
  const isSearched = input.loadEngine === undefined
  const written = await (isSearched ? vectors?.finish(queries) : vectors?.finishUnsearched(queries))
  const { facets: dictionaries, bytes } = facets.finish()
  const words = lexical.finish()
  const tables = passages.finish()
  const order = forward.finish()
  const named = references.finish(input.acts)
  const file = (name: ArtifactFile, pieces: Iterable<Uint8Array>) => writeHashed(join(folder, name), pieces)
  const json = (name: ArtifactFile, value: unknown) => file(name, [Buffer.from(canonicalJson(value))])
  const files = {
    ...written?.files,
    'passages.jsonl': await lines.finish(),
    'passages.offsets': await file('passages.offsets', [tables.offsets]),
    'passages.sha256': await file('passages.sha256', [tables.digests]),
    'passages.leaves': await file('passages.leaves', [tables.leaves]),
    'sources.jsonl': await file('sources.jsonl', sources.finish()),
    'facets.json': await json('facets.json', dictionaries),
    'facets.bin': await file('facets.bin', [bytes]),
    'documents.bin': await file('documents.bin', [documents.finish()]),
    'rows.bin': await file('rows.bin', [table.finish()]),
    'lexical.json': await json('lexical.json', words.description),
    'lexical.terms': await file('lexical.terms', [words.terms]),
    'lexical.postings': await file('lexical.postings', words.postings),
    'forward.json': await json('forward.json', order.description),
    'forward.tokens': await tokens.finish(),
    'forward.offsets': await file('forward.offsets', [order.offsets]),
    'forward.pairs': await file('forward.pairs', [order.pairs]),
    'grams.words': await ngramWords.finish(),
    'references.json': await json('references.json', named.references),
    'references.bin': await file('references.bin', [named.bytes]),
    ...(queryExpansions.length === 0 ? {} : await writeQueryExpansions(folder, queryExpansions)),
  }
  // The build needs the postings for the n-grams; a version with an engine is not searched in them.
  const { 'lexical.postings': postings, ...others } = files
  const ofNgrams = await writeNgrams(folder, input.passages, ngrams, files)
  const engine = await input.loadEngine?.({ folder, passages: input.passages, dimensions: embedding?.dimensions })
  if (!isSearched) await rm(join(folder, 'lexical.postings'))
  return await writeManifest(input, folder, {
    engine,
    documents: documents.count,
    merkle_root: merkleRoot(tables.leaves).toString('hex'),
    clusters: written?.ivf,
    cosines: written?.cosines,
    files: { ...others, ...(isSearched ? { 'lexical.postings': postings } : {}), ...ofNgrams },
  })
}

type Measured = Pick<Manifest, 'engine' | 'documents' | 'merkle_root' | 'clusters' | 'cosines' | 'files'>

async function writeManifest(input: ArtifactInput, folder: string, measured: Measured): Promise<WrittenArtifact> {
  const manifest = manifestSchema.parse({
    ...measured,
    format: ARTIFACT_FORMAT,
    version_id: input.versionId,
    passages: input.passages,
    embedding: input.embedding,
    snapshots_digest: input.snapshotsDigest,
    search_questions: input.queryExpansions?.length || undefined,
    description: input.description,
    as_of: input.asOf,
  })
  const bytes = Buffer.from(manifestText(manifest))
  await writeHashed(join(folder, MANIFEST_FILE), [bytes])
  await writeHashed(join(folder, SIGNATURE_FILE), [signManifest(bytes, input.privateKeyDer)])
  return { manifest, manifestDigest: sha256(bytes) }
}

interface RowFiles {
  readonly vectors: VectorsWriter | undefined
  readonly lines: HashedFile
  readonly tokens: HashedFile
  readonly ngramWords: HashedFile
}

async function writeRows(input: ArtifactInput, files: RowFiles, pause: () => Promise<void>) {
  const check = createRowChecks(input.passages)
  const passages = createPassagesWriter(input.passages)
  const facets = createFacetsWriter(input.passages)
  const documents = createDocumentsWriter()
  const table = createRowTableWriter(input.passages)
  const analyze = createAnalyzer()
  const lexical = createLexicalWriter(input.passages)
  const forward = createForwardWriter(input.passages)
  const ngrams = createNgramsWriter(input.passages)
  const references = createReferencesWriter(input.passages)
  const sources = createSourcesWriter(input.sources, input.derived ?? new Map())
  const dimensions = input.embedding?.dimensions ?? 0
  const batch = new Float32Array(BATCH_ROWS * dimensions)
  let done = 0
  let batched = 0

  async function flush(): Promise<void> {
    await files.vectors?.add(batch.slice(0, batched * dimensions))
    batched = 0
    input.onProgress?.(done, input.passages)
    await pause()
  }
  for await (const row of input.rows) {
    const { record } = row
    check(record, done)
    if (files.vectors !== undefined)
      copyUnit('vector' in row ? row.vector : undefined, batch, batched * dimensions, dimensions)
    await files.lines.write(passages.add(done, record))
    sources.add(record)
    facets.add(done, record)
    documents.add(done, record.document.id)
    const { language } = record.metadata
    const terms = { language, heading: analyze(record.heading, language), text: analyze(record.text, language) }
    lexical.add(done, terms)
    await files.tokens.write(forward.add(terms, table.add(done, record)))
    await files.ngramWords.write(ngrams.add(record))
    references.add(done, record)
    done += 1
    batched += 1
    if (batched === BATCH_ROWS) await flush()
  }
  if (batched > 0) await flush()
  if (done !== input.passages) throw new ArtifactError(`${input.passages} passages were announced and ${done} came.`)
  return { passages, facets, documents, table, lexical, forward, ngrams, references, sources }
}
