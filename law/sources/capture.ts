import { createHash, randomUUID } from 'node:crypto'
import { mkdir, open, realpath, rm, stat, type FileHandle } from 'node:fs/promises'
import { dirname, sep } from 'node:path'
import { SOURCE_BOUNDS } from './bounds.ts'
import { forEachConcurrently } from '#core/platform/for-each-concurrently.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { derivedUuid } from '#core/platform/ids.ts'
import { renameDurably, writeDurably } from '#core/platform/durable-file.ts'
import { digestFile } from '#core/platform/hashed-file.ts'
import type { ArtifactStore } from '#core/index/format/store.ts'
import type { SourceFile } from './list.ts'
import { openWithin } from './roots.ts'

/** A source whose exact bytes are in the artifact store under their SHA-256. */
export interface CapturedSource {
  readonly sourceName: string
  readonly mediaType: string
  /** Hex. */
  readonly sha256: string
  readonly bytes: number
  /** Of a clone, on its first file. */
  readonly gone?: GoneCommits | undefined
}

/** Captured commits that are gone from the history of their repository, each with the day of the capture that missed it. */
export type GoneCommits = Readonly<Record<string, string>>

/**
 * Returns captured sources as snapshots of a knowledge base. The same bytes under the same name in the same knowledge
 * base are the same snapshot.
 */
export function snapshotsOf(knowledgeBaseId: string, captured: readonly CapturedSource[]) {
  return captured.map((source) => ({
    ...source,
    id: derivedUuid('snapshot', knowledgeBaseId, source.sourceName, source.sha256),
  }))
}

/** Nobody but the account of the service, and its group, reads what was captured. */
const SNAPSHOT_MODE = 0o640

export interface CaptureOptions {
  readonly signal?: AbortSignal
  readonly onBytes?: (bytes: number) => void
}

/**
 * Copies the exact bytes of each file into the store. An existing snapshot is kept where it has its SHA-256, and
 * replaced where it is damaged. Each file is read once. Returns the sources in the given order, and on return every
 * snapshot is on disk.
 * @throws OperatorError for a file that is too large, not a regular file, outside its folder, or changed while it was
 * read.
 */
export async function captureSources(
  store: ArtifactStore,
  files: readonly SourceFile[],
  options: CaptureOptions = {},
): Promise<readonly CapturedSource[]> {
  if (files.length > SOURCE_BOUNDS.sourceFilesMax)
    throw new OperatorError(
      `${files.length} files are more than the ${SOURCE_BOUNDS.sourceFilesMax} of one import: import them in parts`,
    )
  const captured: CapturedSource[] = []
  // Every capture has ended, and removed its temporary file, before the first failure is reported.
  await forEachConcurrently(
    files,
    SOURCE_BOUNDS.sourceCapturesMax,
    async (file, index, signal) => {
      captured[index] = await captureSource(store, file, { ...options, signal })
    },
    options.signal,
  )
  return captured
}

async function captureSource(store: ArtifactStore, file: SourceFile, options: CaptureOptions): Promise<CapturedSource> {
  await using source = await openSource(file)
  const before = await source.stat({ bigint: true })
  if (before.size > SOURCE_BOUNDS.sourceFileBytesMax) throw tooLarge(file.sourceName)
  const read: Read = async (keep) => {
    const kept = await readThrough(source, file.sourceName, options, keep)
    const after = await source.stat({ bigint: true })
    if (after.mtimeNs === before.mtimeNs && after.size === before.size && after.size === BigInt(kept.bytes)) return kept
    throw new OperatorError(`${file.sourceName} changed while it was read: import it again when nothing writes to it`)
  }
  const keep = before.size <= SOURCE_BOUNDS.readBlockBytes ? keepSmall : keepBlocks
  return { sourceName: file.sourceName, mediaType: file.mediaType, ...(await keep(store, read, options)) }
}

/** Keeps bytes that are in memory as those of a source. @returns once they are on disk. */
export async function captureBytes(
  store: ArtifactStore,
  source: Pick<CapturedSource, 'sourceName' | 'mediaType'>,
  bytes: Buffer,
): Promise<CapturedSource> {
  const kept = { sha256: createHash('sha256').update(bytes).digest('hex'), bytes: bytes.length }
  await keepSmall(store, (keep) => keep(bytes).then(() => kept), {})
  return { ...source, ...kept }
}

export type Kept = Pick<CapturedSource, 'sha256' | 'bytes'>

/** Passes each block on, and returns what all of them are. Only what it returns gets the name of its SHA-256. */
type Read = (keep: (block: Uint8Array) => Promise<void>) => Promise<Kept>

/** Reads a file of few bytes into memory and writes it only where the store lacks it, or holds it damaged. */
async function keepSmall(store: ArtifactStore, read: Read, options: CaptureOptions): Promise<Kept> {
  const blocks: Uint8Array[] = []
  const kept = await read((block) => {
    blocks.push(block)
    return Promise.resolve()
  })
  const target = store.snapshotFile(kept.sha256)
  if (!(await holds(target, kept, options))) await writeDurably(target, Buffer.concat(blocks), SNAPSHOT_MODE)
  await store.publish(target)
  return kept
}

/**
 * Keeps bytes under their SHA-256 while they are read: in a file under a temporary name, which gets its final name, or
 * is removed if that exists.
 */
export async function keepBlocks(store: ArtifactStore, read: Read, options: CaptureOptions): Promise<Kept> {
  const temporary = store.incomingFile(`${randomUUID()}.tmp`)
  await mkdir(dirname(temporary), { recursive: true })
  await using ending = new AsyncDisposableStack()
  ending.defer(() => rm(temporary, { force: true }))
  const kept = await copied(temporary, read)
  const target = store.snapshotFile(kept.sha256)
  if (!(await holds(target, kept, options))) {
    await mkdir(dirname(target), { recursive: true })
    await renameDurably(temporary, target)
  }
  await store.publish(target)
  return kept
}

async function copied(path: string, read: Read): Promise<Kept> {
  await using copy = await open(path, 'wx', SNAPSHOT_MODE)
  const kept = await read((block) => copy.writeFile(block))
  await copy.sync()
  return kept
}

/** True if a file has the bytes. One that cannot be read counts as damaged. */
async function holds(path: string, { sha256, bytes }: Kept, { signal }: CaptureOptions): Promise<boolean> {
  if ((await stat(path).catch(() => undefined))?.size !== bytes) return false
  const held = await digestFile(path, signal).catch(() => undefined)
  signal?.throwIfAborted()
  return held?.sha256 === sha256
}

async function openSource(file: SourceFile): Promise<FileHandle> {
  const { roots = 'own rights' } = file
  return await openWithin(roots === 'own rights' ? await pathInFolder(file) : file.path, roots, 'file')
}

/** The path with its links followed. */
async function pathInFolder(file: SourceFile): Promise<string> {
  const [root, path] = await Promise.all([realpath(file.root), realpath(file.path)]).catch((cause: unknown) => {
    throw new OperatorError(`cannot read ${file.sourceName}: it does not exist or is a broken link`, { cause })
  })
  const folder = root.endsWith(sep) ? root : `${root}${sep}`
  if (!path.startsWith(folder))
    throw new OperatorError(`${file.sourceName} is a link that leads out of ${file.root}: put the file itself there`)
  return path
}

function tooLarge(sourceName: string): OperatorError {
  return new OperatorError(
    `${sourceName} is larger than ${SOURCE_BOUNDS.sourceFileBytesMax} bytes: split it into several files`,
  )
}

/** Hashes the file from its first byte and passes each block, in a buffer of its own, to `keep`. */
async function readThrough(
  source: FileHandle,
  sourceName: string,
  { signal, onBytes }: CaptureOptions,
  keep: (block: Uint8Array) => Promise<void>,
): Promise<Kept> {
  const hash = createHash('sha256')
  let bytes = 0
  for (;;) {
    signal?.throwIfAborted()
    const buffer = Buffer.allocUnsafe(SOURCE_BOUNDS.readBlockBytes)
    const { bytesRead } = await source.read(buffer, 0, buffer.length, bytes)
    if (bytesRead === 0) return { sha256: hash.digest('hex'), bytes }
    bytes += bytesRead
    if (bytes > SOURCE_BOUNDS.sourceFileBytesMax) throw tooLarge(sourceName)
    const block = buffer.subarray(0, bytesRead)
    hash.update(block)
    await keep(block)
    onBytes?.(bytesRead)
  }
}
