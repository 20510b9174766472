import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { Piscina } from 'piscina'
import { digestFile } from '#core/platform/hashed-file.ts'
import type { FileDigest } from '#core/platform/hashed-file.ts'

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
  const pool = new Piscina<string, FileDigest>({
    filename: fileURLToPath(new URL('../../platform/hashed-file.ts', import.meta.url)),
    minThreads: threads,
    maxThreads: threads,
    concurrentTasksPerWorker: 1,
    maxQueue: files.length,
    recordTiming: false,
  })
  try {
    const running = new Map(
      files.toSorted((a, b) => b.bytes - a.bytes).map(({ path }) => [path, pool.run(path, { name: 'digestFile' })]),
    )
    await Promise.allSettled(running.values())
    return await Promise.all(files.map(async ({ path }) => running.get(path) ?? digestFile(path)))
  } finally {
    await pool.close()
  }
}

async function inTurn(files: readonly FileToHash[]): Promise<FileDigest[]> {
  const digests: FileDigest[] = []
  for (const { path } of files) digests.push(await digestFile(path))
  return digests
}
