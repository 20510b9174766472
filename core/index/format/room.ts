import { readdir, rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { StoreError } from '#core/platform/errors.ts'

/** A copy gets its name once all of it is there; until then it has this ending. */
export const UNFINISHED = '.part'

/** A copy that was used so recently stays where no search node says what it wants. */
const IN_USE_MS = 3_600_000

interface RoomOptions {
  readonly root: string
  readonly bytesMax: number
  readonly inUse: (() => Iterable<string>) | undefined
  /** Whether the store has it, so that its copy is not the only one. */
  readonly isPublished: (path: string) => Promise<boolean>
}

interface Copy {
  readonly path: string
  readonly bytes: number
  readonly usedAtMs: number
}

export type Room = ReturnType<typeof createRoom>

/** Keeps the copies of artifacts and captured files within a bound: the least recently used ones go first. */
export function createRoom({ root, bytesMax, inUse, isPublished }: RoomOptions) {
  /** As of the last look, and what was fetched since. */
  let held: number | undefined

  function mayGo({ path, usedAtMs }: Copy, wanted: ReadonlySet<string>): boolean {
    return inUse === undefined ? Date.now() - usedAtMs > IN_USE_MS : !wanted.has(basename(finished(path)))
  }
  /** @returns the bytes that are left. */
  async function evict(bytes: number): Promise<number> {
    const copies = await copiesIn(root)
    let left = copies.reduce((sum, copy) => sum + copy.bytes, 0)
    const wanted = new Set(inUse?.())
    for (const copy of copies.toSorted((one, other) => one.usedAtMs - other.usedAtMs)) {
      if (left + bytes <= bytesMax) break
      if (!mayGo(copy, wanted) || !(await isPublished(finished(copy.path)))) continue
      await rm(copy.path, { recursive: true, force: true })
      left -= copy.bytes
    }
    return left
  }
  return {
    /** Makes room for so many bytes. @throws StoreError where what is in use leaves none. */
    async make(bytes: number): Promise<void> {
      if (held === undefined || held + bytes > bytesMax) held = await evict(bytes)
      held += bytes
      if (held <= bytesMax) return
      const left = held - bytes
      held = undefined
      throw new StoreError(
        `Another ${bytes} bytes do not fit into ARTIFACT_CACHE_MAX_MB beside the ${left} bytes in use: raise it.`,
      )
    },
    /** Removes what is above the bound, and not in use. */
    async trim(): Promise<void> {
      held = await evict(0)
    },
  }
}

function finished(path: string): string {
  return path.endsWith(UNFINISHED) ? path.slice(0, -UNFINISHED.length) : path
}

async function copiesIn(root: string): Promise<readonly Copy[]> {
  const snapshots = join(root, 'snapshots')
  const folders = [join(root, 'artifacts'), ...(await namesIn(snapshots)).map((name) => join(snapshots, name))]
  const copies: Copy[] = []
  for (const folder of folders)
    for (const name of await namesIn(folder)) {
      const path = join(folder, name)
      const usedAtMs = (await stat(path).catch(() => undefined))?.mtimeMs
      if (usedAtMs !== undefined) copies.push({ path, usedAtMs, bytes: await bytesAt(path) })
    }
  return copies
}

/** Returns no names where there is no such folder. */
export async function namesIn(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch(() => [])
}

/** Bytes of a file, or of the files in a folder; 0 where there is none. */
export async function bytesAt(path: string): Promise<number> {
  const found = await stat(path).catch(() => undefined)
  if (found?.isDirectory() !== true) return found?.size ?? 0
  const sizes = await Promise.all((await namesIn(path)).map((name) => bytesAt(join(path, name))))
  return sizes.reduce((sum, bytes) => sum + bytes, 0)
}
