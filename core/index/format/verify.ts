import { lstat, readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { z } from 'zod'
import { Piscina } from 'piscina'
import { ArtifactError } from '#core/index/artifact-error.ts'
import { documentsFault } from '#core/index/facets/documents.ts'
import { facetsLayout, facetsSchema } from '#core/index/facets/layout.ts'
import { PASSAGE_DIGEST_BYTES, passageOffsetsBytes, passageOffsetsFault } from '#core/index/passages/layout.ts'
import { ivfFault } from '#core/index/vectors/ivf-layout.ts'
import { centroidsBytes } from '#core/index/vectors/ivf-reader.ts'
import { sq4Layout } from '#core/index/vectors/layout.ts'
import { queryExpansionRowsFault } from '#core/index/query-expansions/layout.ts'
import { parsedJson } from '#core/platform/json.ts'
import { HASH_BYTES } from '#core/platform/merkle.ts'
import { forwardSchema } from '#core/index/lexical/forward-layout.ts'
import { ngramsSchema } from '#core/index/ngrams/layout.ts'
import { lexicalSchema, lexicalTermsLayout } from '#core/index/lexical/layout.ts'
import { referencesLayout, referencesSchema } from '#core/index/references/layout.ts'
import { rowTableBytes } from '#core/index/passages/row-table.ts'
import { MANIFEST_FILE, SIGNATURE_FILE, filesOf, readSignedManifest } from './manifest.ts'
import type { ArtifactFile, Manifest, NamedFile, Signed } from './manifest.ts'
import { digestFile, type FileDigest } from '#core/platform/hashed-file.ts'

/**
 * Verifies an artifact before any of it is opened: signature, expected digest, file names, sizes and SHA-256 of every
 * file. The files must also agree with each other and with the manifest.
 * @param publicKeysDer the keys that are trusted, SPKI; one of them signed the manifest.
 * @param expectedDigest SHA-256 of manifest.json as the database holds it.
 * @throws ArtifactError with one sentence about the first fault.
 */
export async function verifyArtifact(
  folder: string,
  publicKeysDer: readonly Uint8Array[],
  expectedDigest: Uint8Array,
): Promise<Manifest> {
  const { manifest } = await readSignedManifest(folder, publicKeysDer, expectedDigest)
  await verifyHashes(folder, manifest, digestFiles)
  await verifyShapes(folder, manifest)
  await verifyTables(folder, manifest)
  await verifyWords(folder, manifest)
  return manifest
}

/**
 * Verifies only the manifest and the bytes of an artifact that was verified before: a digest of each file shows whether
 * any changed.
 * @param digestsOf hashes the files, in order.
 * @throws ArtifactError with one sentence about the first fault.
 */
export async function verifyBytes(folder: string, signed: Signed, digestsOf: DigestsOf): Promise<void> {
  const { manifest } = await readSignedManifest(folder, signed.publicKeysDer, signed.digest)
  await verifyHashes(folder, manifest, digestsOf)
}

async function verifyNames(folder: string, manifest: Manifest): Promise<void> {
  const expected: ReadonlySet<string> = new Set([
    ...filesOf(manifest).map(({ name }) => name),
    MANIFEST_FILE,
    SIGNATURE_FILE,
  ])
  const present = await readdir(folder)
  if (present.some((name) => !expected.has(name)))
    throw new ArtifactError('The artifact holds a file that its manifest does not name.')
}

async function verifySize(folder: string, { name, bytes }: NamedFile): Promise<void> {
  const found = await lstat(join(folder, name)).catch(() => undefined)
  if (found === undefined || !found.isFile())
    throw new ArtifactError(`The artifact lacks its file ${name}.`, { absent: found === undefined })
  if (found.size !== bytes) throw new ArtifactError(`${name} has ${found.size} bytes instead of ${bytes}.`)
}

type DigestsOf = (files: readonly FileToHash[]) => Promise<readonly FileDigest[]>

async function verifyHashes(folder: string, manifest: Manifest, digestsOf: DigestsOf): Promise<void> {
  await verifyNames(folder, manifest)
  const files = filesOf(manifest)
  for (const file of files) await verifySize(folder, file)
  const found = await digestsOf(files.map(({ name, bytes }) => ({ path: join(folder, name), bytes })))
  for (const [at, { name, bytes, sha256: expected }] of files.entries()) {
    if (found[at]?.bytes !== bytes || found[at].sha256 !== expected)
      throw new ArtifactError(`${name} does not have the SHA-256 that the manifest states.`)
  }
}

async function readDescription<T>(folder: string, name: ArtifactFile, schema: z.ZodType<T>): Promise<T> {
  const parsed = schema.safeParse(parsedJson(await readFile(join(folder, name), 'utf8')))
  if (parsed.success) return parsed.data
  throw new ArtifactError(`${name} does not have the form that this version of the service reads.`)
}

async function verifyShapes(folder: string, manifest: Manifest): Promise<void> {
  const { passages, embedding, files, clusters } = manifest
  if (embedding !== undefined) verifyVectors(passages, embedding.dimensions, clusters?.count, files)
  const facets = await readDescription(folder, 'facets.json', facetsSchema)
  for (const values of Object.values(facets)) {
    if (values.some((value, at) => at > 0 && value <= (values[at - 1] ?? '')))
      throw new ArtifactError('A dictionary of facets.json is not sorted.')
  }
  if (files['facets.bin'].bytes !== facetsLayout(passages, facets).bytes)
    throw new ArtifactError('facets.bin does not fit facets.json.')
}

function verifyVectors(
  passages: number,
  dimensions: number,
  lists: number | undefined,
  { 'vectors.f32': vectors, 'vectors.sq4': sq4, 'centroids.sq4': centroids }: Manifest['files'],
): void {
  if (vectors?.bytes !== passages * dimensions * 4)
    throw new ArtifactError('vectors.f32 does not hold one vector a passage.')
  if (lists === undefined) return
  if (sq4?.bytes !== sq4Layout(passages, dimensions).bytes)
    throw new ArtifactError('vectors.sq4 does not hold one SQ4 vector a passage.')
  if (centroids?.bytes !== centroidsBytes(lists, dimensions))
    throw new ArtifactError('centroids.sq4 does not hold one SQ4 vector a list.')
}

/** Verifies the tables that a search does not check. A row out of range would address foreign bytes. */
async function verifyTables(folder: string, manifest: Manifest): Promise<void> {
  const { passages, documents, files, clusters, search_questions: questions } = manifest
  const read = (name: ArtifactFile): Promise<Buffer> => readFile(join(folder, name))
  const fault =
    passageOffsetsFault(await read('passages.offsets'), passages, files['passages.jsonl'].bytes) ??
    (clusters && ivfFault(await read('clusters.u32'), passages, clusters.count)) ??
    documentsFault(await read('documents.bin'), passages, documents) ??
    (questions === undefined
      ? undefined
      : queryExpansionRowsFault(await read('search-questions.rows'), questions, passages))
  if (fault !== undefined) throw new ArtifactError(fault)
}

/** Verifies the sizes of the digests, lexical, forward and reference files against their descriptions. */
async function verifyWords(folder: string, { passages, files, search_questions: questions }: Manifest): Promise<void> {
  const read = <T>(name: ArtifactFile, schema: z.ZodType<T>): Promise<T> => readDescription(folder, name, schema)
  const lexical = await read('lexical.json', lexicalSchema)
  const forward = await read('forward.json', forwardSchema)
  const ngrams = await read('grams.json', ngramsSchema)
  const references = await read('references.json', referencesSchema)
  if (lexical.rows !== passages || forward.rows !== passages || ngrams.rows !== passages)
    throw new ArtifactError('The words were indexed for another number of passages.')
  const asked = questions === undefined ? undefined : await read('search-questions.json', lexicalSchema)
  if (asked?.rows !== questions)
    throw new ArtifactError('The search questions were indexed for another number of questions.')
  const expected: readonly (readonly [ArtifactFile, number | undefined])[] = [
    ['passages.sha256', passages * PASSAGE_DIGEST_BYTES],
    ['passages.leaves', passages * HASH_BYTES],
    ['rows.bin', rowTableBytes(passages)],
    ['lexical.terms', lexicalTermsLayout(lexical).bytes],
    ['lexical.postings', files['lexical.postings'] && lexical.postings_bytes],
    ['forward.tokens', forward.uint32s * 4],
    ['forward.offsets', (passages + 1) * 4],
    ['forward.pairs', 2 ** forward.pair_bits * 4],
    ['grams.frequencies', 2 ** ngrams.bits],
    ['grams.words', ngrams.words_bytes],
    ['grams.offsets', ngrams.words_bytes === undefined ? undefined : passageOffsetsBytes(passages)],
    ['references.bin', referencesLayout(references).bytes],
    ['search-questions.terms', asked && lexicalTermsLayout(asked).bytes],
    ['search-questions.postings', asked?.postings_bytes],
  ]
  for (const [name, bytes] of expected) {
    if (bytes !== undefined && files[name]?.bytes !== bytes)
      throw new ArtifactError(`${name} is not as long as its description says.`)
  }
}

export interface FileToHash {
  readonly path: string
  /** Expected size. Larger files are hashed first. */
  readonly bytes: number
}

/** Below this total, starting threads takes longer than hashing. */
const THREADS_FROM_BYTES = 64 * 1024 * 1024
const THREADS_MAX = 4

/** Returns size and SHA-256 of each file in input order. A large total is hashed on several threads. */
export async function digestFiles(files: readonly FileToHash[]): Promise<FileDigest[]> {
  const threads = Math.min(THREADS_MAX, availableParallelism(), files.length)
  if (threads < 2 || files.reduce((sum, { bytes }) => sum + bytes, 0) < THREADS_FROM_BYTES) return inTurn(files)
  await using pool = new Piscina<string, FileDigest>({
    filename: fileURLToPath(new URL('../../platform/hashed-file.ts', import.meta.url)),
    minThreads: threads,
    maxThreads: threads,
    concurrentTasksPerWorker: 1,
    maxQueue: files.length,
    recordTiming: false,
  })
  const running = new Map(
    files.toSorted((a, b) => b.bytes - a.bytes).map(({ path }) => [path, pool.run(path, { name: 'digestFile' })]),
  )
  await Promise.allSettled(running.values())
  return await Promise.all(files.map(async ({ path }) => running.get(path) ?? digestFile(path)))
}

async function inTurn(files: readonly FileToHash[]): Promise<FileDigest[]> {
  const digests: FileDigest[] = []
  for (const { path } of files) digests.push(await digestFile(path))
  return digests
}
