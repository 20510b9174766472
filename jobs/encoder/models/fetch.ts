import { chmod, mkdir, readdir, stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { OperatorError } from '#core/platform/errors.ts'
import { digestFile } from '#core/platform/hashed-file.ts'
import { renameDurably, writeDurably } from '#core/platform/durable-file.ts'
import { CATALOGUE, FETCHED_FILE, type KnownRelease } from './catalogue.ts'
import { download } from './download.ts'

export const HUB = 'https://huggingface.co'

export interface Fetching {
  readonly name: string
  readonly release: KnownRelease
  /** Folder of models. */
  readonly models: string
  /** Base URL of the hub or of a mirror with the same paths. */
  readonly from: string
  readonly signal: AbortSignal
  readonly onProgress: (file: string, done: number, total: number) => void
}

/** @throws OperatorError for a name that is not in the list, so that no name becomes a path. */
export function releaseNamed(name: string, catalogue: typeof CATALOGUE = CATALOGUE): KnownRelease {
  const release = Object.hasOwn(catalogue, name) ? catalogue[name] : undefined
  if (release !== undefined) return release
  throw new OperatorError(`No such model is in the list: choose ${Object.keys(catalogue).join(', ')}.`)
}

export function bytesOf({ files }: KnownRelease): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0)
}

/**
 * Downloads a model into a folder below `models`, which appears whole and cannot be written to. What an interrupted run
 * left is continued.
 * @returns the folder, and whether it was there already, as pinned.
 * @throws OperatorError where the folder holds something else, or a file cannot be had as it is pinned.
 */
export async function fetchModel(fetching: Fetching): Promise<{ readonly folder: string; readonly wasThere: boolean }> {
  const { name, release, models, from, signal, onProgress } = fetching
  const folder = join(models, name)
  if (await stat(folder).catch(() => undefined)) {
    await assertAsPinned(folder, release, signal)
    return { folder, wasThere: true }
  }
  const partial = join(models, `.${name}.${release.revision.slice(0, 12)}.partial`)
  await mkdir(partial, { recursive: true })
  await assertRoom(partial, release)
  for (const pinned of release.files)
    await download({
      url: `${from.replace(/\/+$/, '')}/${release.repository}/resolve/${release.revision}/${pinned.path}`,
      path: join(partial, pinned.path),
      pinned,
      signal,
      onBytes: (bytes) => onProgress(pinned.path, bytes, pinned.bytes),
    })
  for (const [path, value] of Object.entries(release.layout))
    await writeDurably(join(partial, path), `${JSON.stringify(value, null, 2)}\n`)
  const { repository, revision, licence, files } = release
  await writeDurably(join(partial, FETCHED_FILE), `${JSON.stringify({ name, repository, revision, licence, files })}\n`)
  await makeReadOnly(partial)
  await renameDurably(partial, folder)
  return { folder, wasThere: false }
}

/** @throws OperatorError where a file is missing or differs from its digest. */
async function assertAsPinned(folder: string, { files }: KnownRelease, signal: AbortSignal): Promise<void> {
  for (const { path, sha256 } of files) {
    const found = await digestFile(join(folder, path), signal).catch((error: unknown) => {
      signal.throwIfAborted()
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
      throw error
    })
    if (found?.sha256 !== sha256)
      throw new OperatorError(
        `${folder} is there, and its ${path} is not the one of the list: remove the folder, or use another --into.`,
      )
  }
}

async function assertRoom(partial: string, release: KnownRelease): Promise<void> {
  const { bavail, bsize } = await statfs(partial)
  const sizes = release.files.map(({ path }) => stat(join(partial, path)).catch(() => ({ size: 0 })))
  const there = (await Promise.all(sizes)).reduce((sum, { size }) => sum + size, 0)
  const missing = bytesOf(release) - there
  if (bavail * bsize < missing)
    throw new OperatorError(
      `${dirname(partial)} has room for ${bavail * bsize} bytes, and ${missing} are missing: use another --into.`,
    )
}

async function makeReadOnly(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) await makeReadOnly(path)
    else await chmod(path, 0o444)
  }
  await chmod(folder, 0o555)
}
