import { appendFile, mkdir, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { z } from 'zod'
import type { ReaderParameters } from '#core/domain/retrieval-profile.ts'
import { canonicalJson, sha256 } from '#core/platform/digest.ts'
import { sizeOf } from '#core/platform/hashed-file.ts'
import { parsedJson } from '#core/platform/json.ts'
import { PROMPT_SHA256 } from '#core/reading/chat.ts'
import { createReader, type Reader, type ReaderSettings } from '#core/reading/reader.ts'
import { readText } from '#core/reading/scored-list.ts'
import { REWRITING_PROMPT_SHA256 } from '#core/rewriting/prompt.ts'
import { createRewriter, type Rewriter, type RewriterSettings } from '#core/rewriting/rewriter.ts'
import { linesOf } from '#law/import/record/lines.ts'
import { EVALUATION_BOUNDS } from './bounds.ts'

const readingSchema = z.object({ scores: z.array(z.number()).readonly(), tokens: z.number().nullable() })
const rewritingSchema = z.object({ queries: z.array(z.string()).min(1).readonly(), tokens: z.number().nullable() })

/** Makes a call to a model, and counts it where somebody asks. */
export type MakeCall = <T extends { readonly tokens: number | null }>(call: () => Promise<T>) => Promise<T>
const uncounted: MakeCall = (call) => call()

/**
 * Opens a reader that keeps scores in a file, so that an evaluation is repeated without the endpoint. A line has the
 * digest of prompt, model, question and passages, and none of their texts.
 * @throws OperatorError as `createReader`.
 */
export async function cachedReader(
  pinned: Pick<ReaderParameters, 'kind' | 'model' | 'prompt_sha256'>,
  settings: ReaderSettings,
  file: string,
  made = uncounted,
): Promise<Reader> {
  const [reader, cache] = [createReader(pinned, settings), await openReplyCache(file, readingSchema)]
  return {
    read: (...asked) => {
      const key = [PROMPT_SHA256, `${pinned.kind} ${pinned.model}`, asked[0], asked[1].map(readText)]
      return kept(cache, key, () => made(() => reader.read(...asked)))
    },
  }
}

/** As `cachedReader`; a line holds the queries. */
export async function cachedRewriter(
  pinned: Parameters<typeof createRewriter>[0],
  settings: RewriterSettings,
  file: string,
  made = uncounted,
): Promise<Rewriter> {
  const [rewriter, cache] = [createRewriter(pinned, settings), await openReplyCache(file, rewritingSchema)]
  return {
    rewrite: (...asked) =>
      kept(cache, [REWRITING_PROMPT_SHA256, pinned.model, asked[0], asked[1]], () =>
        made(() => rewriter.rewrite(...asked)),
      ),
  }
}

/** Returns what is kept of a request, else what `ask` gives, which is then kept. */
async function kept<T>(cache: ReplyCache<T>, request: readonly unknown[], ask: () => Promise<T>): Promise<T> {
  const key = sha256(canonicalJson(request)).toString('hex')
  const known = cache.get(key)
  if (known !== undefined) return known
  const reply = await ask()
  await cache.add([[key, reply]])
  return reply
}

/** What a model gave, by the digest (hex) of what it was asked. */
export interface ReplyCache<T> {
  readonly get: (key: string) => T | undefined
  readonly add: (replies: readonly (readonly [key: string, reply: T])[]) => Promise<void>
}

const keySchema = z.object({ key: z.string().length(64) })

/**
 * Opens a file of JSON lines to which each reply is appended, so that a run that is killed pays for none twice. A line
 * that is no reply, as the last one of a killed run, is a miss. A file beyond the bound begins anew.
 */
export async function openReplyCache<T>(path: string, schema: z.ZodType<T>): Promise<ReplyCache<T>> {
  await mkdir(dirname(path), { recursive: true })
  if ((await sizeOf(path)) > EVALUATION_BOUNDS.replyCacheBytesMax) await rm(path)
  await appendFile(path, '')
  const known = new Map<string, T>()
  for await (const { bytes } of linesOf(path, EVALUATION_BOUNDS.replyLineBytesMax)) {
    const line = parsedJson(bytes?.toString('utf8') ?? '')
    const [key, reply] = [keySchema.safeParse(line), schema.safeParse(line)]
    if (key.success && reply.success) known.set(key.data.key, reply.data)
  }
  return {
    get: (key) => known.get(key),
    async add(replies) {
      for (const [key, reply] of replies) known.set(key, reply)
      const lines = replies.map(([key, reply]) => `${JSON.stringify({ key, ...reply })}\n`)
      // The line break before them ends what a killed run left.
      await appendFile(path, `\n${lines.join('')}`)
    },
  }
}
