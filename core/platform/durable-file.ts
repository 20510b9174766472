import { randomUUID } from 'node:crypto'
import { mkdir, open, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Writes a whole file durably: unique temporary name, fsync, rename, fsync of the folder. */
export async function writeDurably(path: string, bytes: Uint8Array | string, mode = 0o644): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  const temporary = `${path}.${randomUUID()}.tmp`
  try {
    await writeFile(temporary, bytes, { flag: 'wx', mode, flush: true })
    await renameDurably(temporary, path)
  } catch (error) {
    // What is tried again and again would fill a full disk with names.
    await rm(temporary, { force: true }).catch(() => undefined)
    throw error
  }
}

/** Writes a file durably unless it has this text already. */
export async function writeChanged(path: string, text: string): Promise<void> {
  if ((await readFile(path, 'utf8').catch(() => undefined)) !== text) await writeDurably(path, text)
}

export async function renameDurably(from: string, to: string): Promise<void> {
  await rename(from, to)
  await syncPath(dirname(to))
}

/** Makes the content of a file, or the names in a folder, durable. */
export async function syncPath(path: string): Promise<void> {
  await using handle = await open(path, 'r')
  await handle.sync()
}
