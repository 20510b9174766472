import { createPrivateKey, createPublicKey, randomBytes } from 'node:crypto'
import { access, mkdir, rm } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Index, MetricKind, ScalarKind } from 'usearch'
import { ArtifactError } from './artifact-error.ts'
import { createFacetsWriter } from './facets-writer.ts'
import { createHashedFile, digestFile, syncPath } from './hashed-file.ts'
import type { FileDigest, HashedFile } from './hashed-file.ts'
import { ARTIFACT_FORMAT, MANIFEST_FILE, SIGNATURE_FILE, canonicalJson, manifestSchema, sha256, signManifest } from './manifest.ts'
import type { EmbeddingSpace, Manifest } from './manifest.ts'
import type { PassageRecord } from './passage.ts'
import { quantize } from './quantize.ts'
import { copyUnit, createRowChecks } from './row-checks.ts'
import { renameDurably } from './store.ts'
import { readSignedManifest, verifyArtifact } from './verify.ts'

export interface ArtifactRow {
  readonly record: PassageRecord
  /** Any positive length; stored at unit length. */
  readonly vector: Float32Array
}

export interface ArtifactInput {
  /** The final folder, `ArtifactStore.artifactFolder(projectionId)`. */
  readonly artifactFolder: string
  readonly projectionId: string
  readonly versionId: string
  readonly embedding: EmbeddingSpace
  readonly snapshotsDigest: string
  /** Number of rows that will come. */
  readonly passages: number
  /** In `rowOrder`. */
  readonly rows: AsyncIterable<ArtifactRow> | Iterable<ArtifactRow>
  /** Ed25519, PKCS #8. */
  readonly privateKeyDer: Buffer
  /** Threads that build the graph; all cores if absent. */
  readonly threads?: number
  readonly onProgress?: (done: number, total: number) => void
  /** Looked at between batches. */
  readonly signal?: AbortSignal
}

export interface WrittenArtifact {
  readonly manifest: Manifest
  /** SHA-256 of manifest.json. */
  readonly manifestDigest: Buffer
}

const INDEX = { metric: 'cos', scalar: 'bf16', connectivity: 16, expansion_add: 128 } as const
const BATCH_ROWS = 1_000

/**
 * Writes an artifact under a temporary name, makes it durable and renames it into place: a reader sees all of it or nothing.
 * An artifact that is already in place and holds is kept as it is.
 * @throws ArtifactError a row that may not be in an artifact, a wrong count, or a damaged artifact already in place.
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

/** Two builds of one projection may race; the second finds a folder that is not empty in its place. */
async function finishedElsewhere(error: unknown, folder: string): Promise<boolean> {
  return error instanceof Error && 'code' in error && (error.code === 'ENOTEMPTY' || error.code === 'EEXIST') && (await exists(folder))
}

async function keepExisting(input: ArtifactInput): Promise<WrittenArtifact> {
  const publicKeyDer = createPublicKey(createPrivateKey({ key: input.privateKeyDer, format: 'der', type: 'pkcs8' })).export({ format: 'der', type: 'spki' })
  const { manifest, digest } = await readSignedManifest(input.artifactFolder, publicKeyDer)
  await verifyArtifact(input.artifactFolder, publicKeyDer, digest)
  if (manifest.projection_id !== input.projectionId || manifest.version_id !== input.versionId)
    throw new ArtifactError('The folder of this projection holds the artifact of another; move it away before building again.')
  return { manifest, manifestDigest: digest }
}

async function writeFolder(input: ArtifactInput, folder: string): Promise<WrittenArtifact> {
  const vectors = await createHashedFile(join(folder, 'vectors.f32'))
  const quantized = await createHashedFile(join(folder, 'vectors.i8'))
  const passages = await createHashedFile(join(folder, 'passages.jsonl'))
  try {
    const { index, offsets, facets, documents } = await writeRows(input, { vectors, quantized, passages })
    index.save(join(folder, 'vectors.usearch'))
    await syncPath(join(folder, 'vectors.usearch'))
    const { facets: dictionaries, bytes } = facets.finish()
    const files = {
      'vectors.usearch': await digestFile(join(folder, 'vectors.usearch')),
      'vectors.f32': await vectors.finish(),
      'vectors.i8': await quantized.finish(),
      'passages.jsonl': await passages.finish(),
      'passages.offsets': await writeWhole(join(folder, 'passages.offsets'), new Uint8Array(offsets.buffer)),
      'facets.json': await writeWhole(join(folder, 'facets.json'), Buffer.from(canonicalJson(dictionaries))),
      'facets.bin': await writeWhole(join(folder, 'facets.bin'), bytes),
    }
    return await writeManifest(input, folder, documents, files)
  } finally {
    for (const file of [vectors, quantized, passages]) await file.abandon()
  }
}

async function writeWhole(path: string, bytes: Uint8Array): Promise<FileDigest> {
  const file = await createHashedFile(path)
  await file.write(bytes)
  return file.finish()
}

async function writeManifest(input: ArtifactInput, folder: string, documents: number, files: Manifest['files']): Promise<WrittenArtifact> {
  const manifest = manifestSchema.parse({
    format: ARTIFACT_FORMAT,
    projection_id: input.projectionId,
    version_id: input.versionId,
    passages: input.passages,
    documents,
    embedding: input.embedding,
    index: INDEX,
    snapshots_digest: input.snapshotsDigest,
    files,
  })
  const bytes = Buffer.from(canonicalJson(manifest))
  await writeWhole(join(folder, MANIFEST_FILE), bytes)
  await writeWhole(join(folder, SIGNATURE_FILE), signManifest(bytes, input.privateKeyDer))
  return { manifest, manifestDigest: sha256(bytes) }
}

interface RowFiles {
  readonly vectors: HashedFile
  readonly quantized: HashedFile
  readonly passages: HashedFile
}

interface WrittenRows {
  readonly index: Index
  readonly offsets: Float64Array
  readonly facets: ReturnType<typeof createFacetsWriter>
  readonly documents: number
}

async function writeRows(input: ArtifactInput, files: RowFiles): Promise<WrittenRows> {
  const { dimensions } = input.embedding
  const index = new Index({
    dimensions,
    metric: MetricKind.Cos,
    quantization: ScalarKind.BF16,
    connectivity: INDEX.connectivity,
    expansion_add: INDEX.expansion_add,
    expansion_search: 0,
    multi: false,
  })
  const threads = input.threads ?? availableParallelism()
  const offsets = new Float64Array(input.passages + 1)
  const facets = createFacetsWriter(input.passages)
  const documents = new Set<string>()
  const check = createRowChecks(input.passages, dimensions)
  const batch = new Float32Array(BATCH_ROWS * dimensions)
  let done = 0
  let batched = 0

  async function flush(): Promise<void> {
    input.signal?.throwIfAborted()
    const filled = batch.slice(0, batched * dimensions)
    index.add(
      BigUint64Array.from({ length: batched }, (_, at) => BigInt(done - batched + at)),
      filled,
      threads,
    )
    await files.vectors.write(new Uint8Array(filled.buffer))
    await files.quantized.write(new Uint8Array(quantize(filled, dimensions).buffer))
    batched = 0
    input.onProgress?.(done, input.passages)
    await nextTurn()
  }
  for await (const { record, vector } of input.rows) {
    check(record, done)
    copyUnit(vector, batch, batched * dimensions, dimensions)
    const line = Buffer.from(`${JSON.stringify(record)}\n`)
    await files.passages.write(line)
    offsets[done + 1] = (offsets[done] ?? 0) + line.length
    facets.add(done, record)
    documents.add(record.document.id)
    done += 1
    batched += 1
    if (batched === BATCH_ROWS) await flush()
  }
  if (batched > 0) await flush()
  if (done !== input.passages) throw new ArtifactError(`${input.passages} passages were announced and ${done} came.`)
  return { index, offsets, facets, documents: documents.size }
}
