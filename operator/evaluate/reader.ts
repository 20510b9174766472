import { z } from 'zod'
import { DEFAULT_CHAT_READER_CALIBRATION } from '#core/domain/default-calibration.ts'
import { READER_KINDS, READ_PASSAGES_MAX, type ReaderParameters } from '#core/domain/retrieval-profile.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { READING_BOUNDS } from '#core/reading/bounds.ts'
import { PROMPT_SHA256 } from '#core/reading/chat.ts'
import type { Reader } from '#core/reading/reader.ts'
import { READER_FORMATS } from '#core/reading/rerank.ts'
import type { Counting } from './about.ts'
import { flaggedEndpoint } from './flagged-endpoint.ts'
import { firstReadable, lineFault, textLines } from './text-lines.ts'
import { cachedReader } from '#jobs/evaluation/reply-cache.ts'
import { option } from '#operator/command-line/inputs.ts'
import { parseRecordJson } from '#law/import/record/record-json.ts'

export const readerInput = {
  /** Base URL of a chat or re-ranking endpoint, or a file of recorded scores; absent: nothing is read. */
  reader: option('<url or file>', 'decide with a reader at this base URL, or by a file of recorded scores'),
  readerModel: option('<name>', 'model of the reader; required with a URL'),
  readerKind: option(
    '<kind>',
    'chat (default): a chat model; cross-encoder: a model that is asked at {url}/rerank, whose decision is fitted ' +
      'to labelled questions',
    z.enum(READER_KINDS).optional(),
  ),
  readerFormat: option('<format>', 'format of a cross-encoder (default: cohere)', z.enum(READER_FORMATS).optional()),
  readerKeyEnv: option('<name>', 'environment variable that holds the key of the reader'),
  readerCache: option('<file>', 'keep scores here, so that a run repeats without calls (default: in ~/.cache)'),
}
type ReaderFlags = z.output<z.ZodObject<typeof readerInput>>

/** A reader that flags name, as a profile pins one. */
export interface FlaggedReader extends Reader {
  /** With the default calibration of chat models; a cross-encoder has none, and its decision is fitted. */
  readonly parameters: ReaderParameters
}

/**
 * Opens the reader that the flags name: an endpoint, whose scores are kept in a file, or a file of recorded scores.
 * @param questions whose ids and texts recorded scores are looked up by.
 * @returns undefined without one.
 * @throws OperatorError where flags do not belong together, or a file cannot be used.
 */
export async function openFlaggedReader(
  flags: ReaderFlags,
  questions: readonly { readonly id: string; readonly text: string }[],
  signal: AbortSignal,
  counting: Counting = () => (call) => call(),
): Promise<FlaggedReader | undefined> {
  const { reader: address, readerModel, readerKind: kind = 'chat', readerKeyEnv: keyEnv, readerCache: cache } = flags
  const named = flaggedEndpoint('reader', { address, model: readerModel, keyEnv, cache })
  if (address === undefined) return undefined
  if (flags.readerFormat !== undefined && kind === 'chat')
    throw new OperatorError('--reader-format is that of a cross-encoder: add --reader-kind cross-encoder.')
  const parameters: ReaderParameters = {
    kind,
    model: named?.model ?? 'recorded scores',
    prompt_sha256: kind === 'chat' ? PROMPT_SHA256 : null,
    scores: 'decide',
    passages: READ_PASSAGES_MAX,
    on_failure: 'refuse',
    calibration: DEFAULT_CHAT_READER_CALIBRATION,
  }
  if (named === undefined) return { ...(await recordedReader(address, questions, signal)), parameters }
  const settings = {
    READER_BASE_URL: named.url,
    READER_API_KEY: named.key,
    READER_FORMAT: flags.readerFormat ?? 'cohere',
    READER_TIMEOUT_MS: READING_BOUNDS.readerTimeoutMaxMs,
  }
  return { ...(await cachedReader(parameters, settings, named.file, counting('reader', parameters))), parameters }
}

const recordedSchema = z.object({
  id: z.string(),
  passages: z.array(z.object({ id: z.string(), score: z.number().min(0).max(100) })),
})

/**
 * Reads recorded scores: one JSON object a line with the id of a question, and ids and scores (0 to 100) of passages.
 * A passage that was not scored is passed over.
 */
async function recordedReader(
  file: string,
  questions: Parameters<typeof openFlaggedReader>[1],
  signal: AbortSignal,
): Promise<Reader> {
  const byId = new Map<string, ReadonlyMap<string, number>>()
  const path = await firstReadable([file], 'name recorded scores, or a URL, with --reader')
  for await (const { text, number } of textLines(path, signal)) {
    const parsed = recordedSchema.safeParse(parseRecordJson(text))
    if (!parsed.success) throw lineFault(path, number, 'is no record of a question with scores of passages')
    byId.set(parsed.data.id, new Map(parsed.data.passages.map(({ id, score }) => [id, score / 100])))
  }
  const byText = new Map(questions.map(({ id, text }) => [text, byId.get(id)]))
  return {
    read: async (question, passages) => {
      const known = byText.get(question)
      const scores = passages.flatMap(
        ({ sourceId }) => known?.get(sourceId) ?? known?.get(sourceId.replace(/~\d+$/, '')) ?? [],
      )
      return await Promise.resolve({ scores, tokens: null })
    },
  }
}
