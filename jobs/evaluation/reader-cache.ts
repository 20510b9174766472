import { appendFile, mkdir, readFile, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { z } from 'zod'
import { canonicalJson, sha256 } from '#core/platform/digest.ts'
import { parsedJson } from '#core/platform/json.ts'
import { PROMPT_SHA256 } from '#core/reading/chat.ts'
import type { Reader, Reading } from '#core/reading/reader.ts'
import { readText } from '#core/reading/scored-list.ts'
import { EVALUATION_BOUNDS } from './bounds.ts'

const lineSchema = z.object({ key: z.string(), scores: z.array(z.number()).readonly(), tokens: z.number().nullable() })

/**
 * Returns a reader that keeps scores in a file of JSON lines, so that an evaluation is repeated without the endpoint.
 * A line has the digest of prompt, model, question and passages, and none of their texts. A file that is too long is
 * read no further and not added to.
 * @param source names kind and model.
 */
export async function cachedReader(reader: Reader, source: string, file: string): Promise<Reader> {
  const { known, isFull } = await readCache(file)
  return {
    async read(question, passages, signal) {
      const key = sha256(canonicalJson([PROMPT_SHA256, source, question, passages.map(readText)])).toString('hex')
      const kept = known.get(key)
      if (kept !== undefined) return kept
      const reading = await reader.read(question, passages, signal)
      known.set(key, reading)
      if (!isFull) await appendFile(file, `${JSON.stringify({ key, ...reading })}\n`)
      return reading
    },
  }
}

async function readCache(file: string): Promise<{ readonly known: Map<string, Reading>; readonly isFull: boolean }> {
  await mkdir(dirname(file), { recursive: true })
  const { size } = await stat(file).catch(() => ({ size: 0 }))
  if (size === 0) return { known: new Map(), isFull: false }
  if (size > EVALUATION_BOUNDS.readerCacheBytesMax) return { known: new Map(), isFull: true }
  const known = new Map<string, Reading>()
  for (const text of (await readFile(file, 'utf8')).split('\n')) {
    const line = lineSchema.safeParse(parsedJson(text))
    // A line that a killed run left incomplete is asked again.
    if (line.success) known.set(line.data.key, { scores: line.data.scores, tokens: line.data.tokens })
  }
  return { known, isFull: false }
}
