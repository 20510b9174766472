import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { ArtifactError } from '#core/index/artifact-error.ts'
import type { ArtifactRef } from '#core/index/format/reader.ts'
import { verifyBytes } from '#core/index/format/verify.ts'
import type { FileDigest } from '#core/platform/hashed-file.ts'
import type { Log } from '#core/platform/log.ts'
import { SEARCH_NODE_BOUNDS } from './bounds.ts'
import type { Versions } from './versions.ts'

/**
 * Reads every file of the loaded versions again, round after round, one block at a time. Passages are checked whenever
 * they are read; this finds what changed in the other files, and in passages that nobody asks for.
 */
export function startScrub(
  versions: Pick<Versions, 'loaded' | 'unloadDamaged'>,
  publicKeysDer: readonly Uint8Array[],
  log: Log,
) {
  const stopped = new AbortController()
  let reading:
    | { readonly artifact: ArtifactRef; readonly left: AbortController; readonly done: Promise<void> }
    | undefined

  async function scrub(artifact: ArtifactRef, digest: Buffer, signal: AbortSignal): Promise<void> {
    try {
      await verifyBytes(artifact.folder, { digest, publicKeysDer }, (files) => digestsOf(files, signal))
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof ArtifactError && !error.absent) versions.unloadDamaged(artifact, error.message)
      // What is mapped was verified, so it is served while the store is away.
      else log.error('version could not be read again', { version_id: artifact.versionId }, error)
    }
  }
  async function run(): Promise<void> {
    while (!stopped.signal.aborted) {
      for (const { artifact, digest } of versions.loaded()) {
        const left = new AbortController()
        reading = { artifact, left, done: scrub(artifact, digest, AbortSignal.any([left.signal, stopped.signal])) }
        await reading.done
      }
      await pause(stopped.signal).catch(() => undefined)
    }
  }
  const running = run()
  return {
    /** Ends the reading of an artifact, and returns once none of its files is open. */
    async leave(artifact: ArtifactRef) {
      if (reading?.artifact !== artifact) return
      reading.left.abort()
      await reading.done
    },
    async stop() {
      stopped.abort()
      await running
    },
  }
}

function pause(signal: AbortSignal): Promise<void> {
  return wait(SEARCH_NODE_BOUNDS.scrubPauseMs, undefined, { signal })
}

async function digestsOf(files: readonly { readonly path: string }[], signal: AbortSignal): Promise<FileDigest[]> {
  const block = Buffer.allocUnsafe(SEARCH_NODE_BOUNDS.scrubBlockBytes)
  const digests: FileDigest[] = []
  for (const { path } of files) digests.push(await digestSlowly(path, block, signal))
  return digests
}

async function digestSlowly(path: string, block: Buffer, signal: AbortSignal): Promise<FileDigest> {
  await using file = await open(path, 'r')
  const hash = createHash('sha256')
  for (let bytes = 0; ;) {
    const { bytesRead } = await file.read(block, 0, block.length, bytes)
    if (bytesRead === 0) return { bytes, sha256: hash.digest('hex') }
    hash.update(block.subarray(0, bytesRead))
    bytes += bytesRead
    await pause(signal)
  }
}
