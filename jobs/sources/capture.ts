import { createHash, randomUUID } from 'node:crypto'
import { mkdir, open, realpath, rm, stat } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { dirname, sep } from 'node:path'
import { BOUNDS } from '#core/platform/bounds.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { derivedUuid } from '#core/platform/ids.ts'
import { renameDurably } from '#core/platform/durable-file.ts'
import type { ArtifactStore } from '#core/index/format/store.ts'
import type { SourceFile } from './list.ts'

/** A source whose exact bytes are in the artifact store under their SHA-256. */
export interface CapturedSource {
  readonly sourceName: string
  readonly mediaType: string
  readonly sha256Hex: string
  readonly bytes: number
}

/**
 * Returns the id of a snapshot row. The same bytes under the same name in the same knowledge base are the same
 * snapshot.
 */
export function snapshotId(knowledgeBaseId: string, sourceName: string, sha256Hex: string): string {
  return derivedUuid('snapshot', knowledgeBaseId, sourceName, sha256Hex)
}

/**
 * Copies the exact bytes of each file into the store, in order; an existing snapshot is kept. On return, every snapshot
 * is on disk.
 * @throws OperatorError for a file that is too large, not a regular file, outside its folder, or changed while it was
 * read.
 */
export async function captureSources(
  store: ArtifactStore,
  files: readonly SourceFile[],
): Promise<readonly CapturedSource[]> {
  if (files.length > BOUNDS.sourceFilesMax)
    throw new OperatorError(
      `${files.length} files are more than the ${BOUNDS.sourceFilesMax} of one import: import them in parts`,
    )
  const captured: CapturedSource[] = []
  for (const file of files) captured.push(await captureSource(store, file))
  return captured
}

async function captureSource(store: ArtifactStore, file: SourceFile): Promise<CapturedSource> {
  const source = await openSource(file)
  try {
    const { sha256Hex, bytes } = await readThrough(source, file.sourceName)
    const target = store.snapshotFile(sha256Hex)
    const held = await stat(target).catch(() => undefined)
    if (held?.size !== bytes) await copyDurably(source, file.sourceName, target, sha256Hex)
    return { sourceName: file.sourceName, mediaType: file.mediaType, sha256Hex, bytes }
  } finally {
    await source.close()
  }
}

async function openSource(file: SourceFile): Promise<FileHandle> {
  const [root, path] = await Promise.all([realpath(file.root), realpath(file.path)]).catch((cause: unknown) => {
    throw new OperatorError(`cannot read ${file.sourceName}: it does not exist or is a broken link`, { cause })
  })
  const folder = root.endsWith(sep) ? root : `${root}${sep}`
  if (!path.startsWith(folder))
    throw new OperatorError(`${file.sourceName} is a link that leads out of ${file.root}: put the file itself there`)
  // Opening a pipe or device would block, so the kind of file is checked first.
  const found = await stat(path)
  if (!found.isFile()) throw new OperatorError(`${file.sourceName} is not a regular file: remove it from the folder`)
  if (found.size > BOUNDS.sourceFileBytesMax) throw tooLarge(file.sourceName)
  return await open(path, 'r')
}

function tooLarge(sourceName: string): OperatorError {
  return new OperatorError(
    `${sourceName} is larger than ${BOUNDS.sourceFileBytesMax} bytes: split it into several files`,
  )
}

/** Hashes the file from its first byte and passes each block to `write`, if given. */
async function readThrough(
  source: FileHandle,
  sourceName: string,
  write?: (block: Uint8Array) => Promise<void>,
): Promise<{ readonly sha256Hex: string; readonly bytes: number }> {
  const hash = createHash('sha256')
  const buffer = Buffer.allocUnsafe(BOUNDS.readBlockBytes)
  let bytes = 0
  for (;;) {
    const { bytesRead } = await source.read(buffer, 0, buffer.length, bytes)
    if (bytesRead === 0) return { sha256Hex: hash.digest('hex'), bytes }
    bytes += bytesRead
    if (bytes > BOUNDS.sourceFileBytesMax) throw tooLarge(sourceName)
    const block = buffer.subarray(0, bytesRead)
    hash.update(block)
    if (write !== undefined) await write(block)
  }
}

/**
 * Copies to a temporary name, calls fsync and renames. The copy is hashed too, so a file that changed meanwhile never
 * gets a name with the wrong hash.
 */
async function copyDurably(source: FileHandle, sourceName: string, target: string, sha256Hex: string): Promise<void> {
  await mkdir(dirname(target), { recursive: true })
  const temporary = `${target}.${randomUUID()}.tmp`
  try {
    const copy = await open(temporary, 'wx')
    try {
      const copied = await readThrough(source, sourceName, async (block) => {
        await copy.writeFile(block)
      })
      if (copied.sha256Hex !== sha256Hex)
        throw new OperatorError(`${sourceName} changed while it was read: import it again when nothing writes to it`)
      await copy.sync()
    } finally {
      await copy.close()
    }
    await renameDurably(temporary, target)
  } finally {
    await rm(temporary, { force: true })
  }
}
