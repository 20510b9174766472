import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { z } from 'zod'
import type { BuildFence } from '#core/db/builds.ts'
import { renameDurably } from '#core/platform/durable-file.ts'
import { BUILD_BOUNDS } from './bounds.ts'

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
