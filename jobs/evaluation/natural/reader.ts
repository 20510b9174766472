import { join } from 'node:path'
import { z } from 'zod'
import { OperatorError } from '#core/platform/errors.ts'
import { PROMPT_SHA256 } from '#core/reading/chat.ts'
import { createReader } from '#core/reading/reader.ts'
import type { Reader } from '#core/reading/reader.ts'
import { READING_BOUNDS } from '#core/reading/bounds.ts'
import { secretVariable, userCacheFolder } from '#jobs/config.ts'
import { firstReadable, lineFault, textLines } from '#jobs/evaluation/command/text-lines.ts'
import { cachedReader } from '#jobs/evaluation/reader-cache.ts'
import { parseRecordJson } from '#jobs/import/record-json.ts'
import type { NaturalFlags } from './flags.ts'
import type { NaturalQuestion } from './questions.ts'

const recordedSchema = z.object({
  id: z.string(),
  passages: z.array(z.object({ id: z.string(), score: z.number().min(0).max(100) })),
})

/** A list of which no passage has a recorded score. */
export class NoRecordedScoreError extends Error {
  override readonly name = 'NoRecordedScoreError'
}

type ReaderFlags = Pick<NaturalFlags, 'reader' | 'readerModel' | 'readerKeyEnv' | 'readerCache'>

/**
 * Opens the reader that the flags name: a chat endpoint, whose scores are kept in a file, or a file of recorded scores.
 * @returns undefined without one.
 * @throws OperatorError where flags do not belong together, or a file cannot be used.
 */
export async function openFlaggedReader(
  { reader, readerModel, readerKeyEnv, readerCache }: ReaderFlags,
  questions: readonly NaturalQuestion[],
  signal: AbortSignal,
): Promise<Reader | undefined> {
  if (reader === undefined) return undefined
  const isUrl = /^https?:\/\//.test(reader)
  if (isUrl !== (readerModel !== undefined))
    throw new OperatorError('--reader URL needs --reader-model NAME, and a file of recorded scores has no model.')
  if (readerModel === undefined) return await recordedReader(reader, questions, signal)
  const opened = createReader(
    { kind: 'chat', model: readerModel, prompt_sha256: PROMPT_SHA256 },
    {
      READER_BASE_URL: reader,
      READER_API_KEY: readerKeyEnv === undefined ? undefined : secretVariable(readerKeyEnv),
      READER_TIMEOUT_MS: READING_BOUNDS.readerTimeoutMaxMs,
      RERANK_BASE_URL: undefined,
      RERANK_FORMAT: 'cohere',
      RERANK_API_KEY: undefined,
      RERANK_TIMEOUT_MS: READING_BOUNDS.readerTimeoutMaxMs,
    },
  )
  return await cachedReader(opened, `chat ${readerModel}`, readerCache ?? join(userCacheFolder(), 'reader.jsonl'))
}

/**
 * Reads recorded scores: one JSON object a line with the id of a question, and ids and scores (0 to 100) of passages.
 * The reader fails for a question of which no listed passage was scored, and passes over passages that were not.
 */
async function recordedReader(
  file: string,
  questions: readonly NaturalQuestion[],
  signal: AbortSignal,
): Promise<Reader> {
  const byId = new Map<string, ReadonlyMap<string, number>>()
  const path = await firstReadable([file], 'name recorded scores, or a URL, with --reader')
  for await (const { text, number } of textLines(path, signal)) {
    const parsed = recordedSchema.safeParse(parseRecordJson(text))
    if (!parsed.success) throw lineFault(path, number, 'is no record of a question with scores of passages')
    byId.set(parsed.data.id, new Map(parsed.data.passages.map(({ id, score }) => [id, score / 100])))
  }
  const byText = new Map(questions.map(({ id, question }) => [question, byId.get(id)]))
  return {
    read: async (question, passages) => {
      const known = byText.get(question)
      const scores = passages.flatMap(
        ({ sourceId }) => known?.get(sourceId) ?? known?.get(sourceId.replace(/~\d+$/, '')) ?? [],
      )
      if (scores.length === 0) throw new NoRecordedScoreError('no passage of the list has a recorded score')
      return await Promise.resolve({ scores, tokens: null })
    },
  }
}
