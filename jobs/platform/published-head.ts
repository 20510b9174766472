import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import type { Queryable } from '#core/db/pool.ts'
import { hasLink } from '#core/db/version-chain.ts'
import { parsedJson } from '#core/platform/json.ts'

const headSchema = z.object({ sequence: z.int(), entry: z.string() })

/** The newest entry of the public trace of a knowledge base; undefined: nothing is published. */
export async function publishedHead(traceDir: string, slug: string): Promise<z.infer<typeof headSchema> | undefined> {
  const text = await readFile(join(traceDir, slug, 'head.json'), 'utf8').catch(() => '')
  return headSchema.safeParse(parsedJson(text)).data
}

/**
 * A published history is continued and never forked.
 * @returns why the version chain in Postgres does not continue what was published; undefined where it does.
 */
export async function forkOf(
  database: Queryable,
  traceDir: string,
  { id, slug }: { readonly id: string; readonly slug: string },
): Promise<string | undefined> {
  const head = await publishedHead(traceDir, slug)
  if (head === undefined || (await hasLink(database, id, head.sequence, head.entry))) return undefined
  return (
    `The published history of ${slug} ends with entry ${head.sequence}, which the database lacks: it is older. ` +
    'Restore a later backup, or move the published folder away, which begins another history.'
  )
}
