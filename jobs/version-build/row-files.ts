import { createReadStream } from 'node:fs'
import { open, readdir, rm } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { z } from 'zod'
import type { BuildFence } from '#core/db/builds.ts'
import { renameDurably } from '#core/platform/durable-file.ts'
import { BUILD_BOUNDS } from './bounds.ts'
import { basename, dirname, join } from 'node:path'

/**
 * Writes each row as a line of JSON to a file of the work folder. The file gets its name once it is complete and on
 * disk; before, its name is that of the run.
 */
export async function replaceLines(
  { fence, signal }: { readonly fence: Pick<BuildFence, 'attempt'>; readonly signal: AbortSignal },
  path: string,
  rows: Iterable<unknown>,
  onRow: () => void = () => undefined,
): Promise<void> {
  const temporary = `${path}.${fence.attempt}.tmp`
  const out = await open(temporary, 'w')
  try {
    let lines: string[] = []
    for (const row of rows) {
      lines.push(`${JSON.stringify(row)}\n`)
      onRow()
      if (lines.length < BUILD_BOUNDS.sortYieldEveryRows) continue
      await out.writeFile(lines.join(''))
      lines = []
      signal.throwIfAborted()
      await nextTurn()
    }
    await out.writeFile(lines.join(''))
    await out.sync()
  } finally {
    await out.close()
  }
  await renameDurably(temporary, path)
}

/** Yields the rows of a file that `replaceLines` wrote. */
export async function* linesOf<T>(path: string, schema: z.ZodType<T>): AsyncGenerator<T> {
  const lines = createInterface({ input: createReadStream(path), crlfDelay: Number.POSITIVE_INFINITY })
  for await (const line of lines) yield schema.parse(JSON.parse(line))
}

/** Yields items in groups, of which only the last one may be smaller. */
export async function* inGroups<T>(items: AsyncIterable<T>, size: number): AsyncGenerator<readonly T[]> {
  let group: T[] = []
  for await (const item of items) {
    group.push(item)
    if (group.length < size) continue
    yield group
    group = []
  }
  if (group.length > 0) yield group
}

export function batchesOf<T>(items: readonly T[], size: number): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, at) => items.slice(at * size, (at + 1) * size))
}

/** Removes the artifact of a failed build, complete or not. */
export async function removeArtifact(folder: string): Promise<void> {
  await removeUnfinished(folder)
  await rm(folder, { recursive: true, force: true })
}

/** Removes temporary folders that killed runs of this build left beside the artifact's folder. */
export async function removeUnfinished(folder: string): Promise<void> {
  const names = await readdir(dirname(folder)).catch(() => [])
  for (const name of names)
    if (name.startsWith(`${basename(folder)}.`) && name.endsWith('.tmp'))
      await rm(join(dirname(folder), name), { recursive: true, force: true })
}
