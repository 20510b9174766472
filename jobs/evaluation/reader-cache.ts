import { appendFile, mkdir, readFile, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { z } from 'zod'
import { canonicalJson, sha256 } from '#core/platform/digest.ts'
import { parsedJson } from '#core/platform/json.ts'
import { PROMPT_SHA256 } from '#core/reading/chat.ts'
import type { Reader } from '#core/reading/reader.ts'
import { readText } from '#core/reading/scored-list.ts'
import { REWRITING_PROMPT_SHA256 } from '#core/rewriting/prompt.ts'
import type { Rewriter } from '#core/rewriting/rewriter.ts'
import { EVALUATION_BOUNDS } from './bounds.ts'

const readingSchema = z.object({ scores: z.array(z.number()).readonly(), tokens: z.number().nullable() })
const rewritingSchema = z.object({ queries: z.array(z.string()).min(1).readonly(), tokens: z.number().nullable() })

/**
 * Returns a reader that keeps scores in a file of JSON lines, so that an evaluation is repeated without the endpoint.
 * A line has the digest of prompt, model, question and passages, and none of their texts.
 * @param source names kind and model.
 */
export async function cachedReader(reader: Reader, source: string, file: string): Promise<Reader> {
  const kept = await openCache(file, readingSchema)
  return {
    read: (question, passages, signal) =>
      kept([PROMPT_SHA256, source, question, passages.map(readText)], () => reader.read(question, passages, signal)),
  }
}

/** As `cachedReader`; a line holds the queries. @param model as the profile pins it. */
export async function cachedRewriter(rewriter: Rewriter, model: string, file: string): Promise<Rewriter> {
  const kept = await openCache(file, rewritingSchema)
  return {
    rewrite: (question, knowledgeBase, timeoutMs, signal) =>
      kept([REWRITING_PROMPT_SHA256, model, question, knowledgeBase], () =>
        rewriter.rewrite(question, knowledgeBase, timeoutMs, signal),
      ),
  }
}

/**
 * Opens a file of JSON lines with what a model gave, by the digest of what it was asked. A file that is too long is read
 * no further and not added to.
 * @returns what is kept of a request, else what `ask` gives, which is then kept.
 */
async function openCache<T extends object>(
  file: string,
  schema: z.ZodType<T>,
): Promise<(request: readonly unknown[], ask: () => Promise<T>) => Promise<T>> {
  const known = new Map<string, T>()
  await mkdir(dirname(file), { recursive: true })
  const { size } = await stat(file).catch(() => ({ size: 0 }))
  const isFull = size > EVALUATION_BOUNDS.readerCacheBytesMax
  for (const text of size === 0 || isFull ? [] : (await readFile(file, 'utf8')).split('\n')) {
    const line = parsedJson(text)
    const [key, value] = [keySchema.safeParse(line), schema.safeParse(line)]
    // A line that a killed run left incomplete is asked again.
    if (key.success && value.success) known.set(key.data.key, value.data)
  }
  return async (request, ask) => {
    const key = sha256(canonicalJson(request)).toString('hex')
    const kept = known.get(key)
    if (kept !== undefined) return kept
    const value = await ask()
    known.set(key, value)
    if (!isFull) await appendFile(file, `${JSON.stringify({ key, ...value })}\n`)
    return value
  }
}

const keySchema = z.object({ key: z.string() })
