import { join } from 'node:path'
import { Option, type Command } from 'commander'
import { z } from 'zod'
import { DEFAULT_CHAT_READER_CALIBRATION } from '#core/domain/default-calibration.ts'
import { READER_KINDS, READ_PASSAGES_MAX, type ReaderParameters } from '#core/domain/retrieval-profile.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { READING_BOUNDS } from '#core/reading/bounds.ts'
import { PROMPT_SHA256 } from '#core/reading/chat.ts'
import { createReader, type Reader, type ReaderError } from '#core/reading/reader.ts'
import { READER_FORMATS, type ReaderFormat } from '#core/reading/rerank.ts'
import { secretVariable, userCacheFolder } from '#jobs/platform/config.ts'
import { firstReadable, lineFault, textLines } from './text-lines.ts'
import { cachedReader } from '#jobs/evaluation/reader-cache.ts'
import { parseRecordJson } from '#law/import/record/record-json.ts'

export interface ReaderFlags {
  /** Base URL of a chat or re-ranking endpoint, or a file of recorded scores; absent: nothing is read. */
  readonly reader?: string | undefined
  readonly readerModel?: string | undefined
  /** Absent: chat. */
  readonly readerKind?: ReaderParameters['kind'] | undefined
  /** Of a cross-encoder; absent: cohere. */
  readonly readerFormat?: ReaderFormat | undefined
  readonly readerKeyEnv?: string | undefined
  /** File of scores that the endpoint gave. */
  readonly readerCache?: string | undefined
}

/** Adds the options of a reader to a command; its `opts()` are then `ReaderFlags`. */
export function readerOptions(command: Command): Command {
  return command
    .option('--reader <url or file>', 'decide with a reader at this base URL, or by a file of recorded scores')
    .option('--reader-model <name>', 'model of the reader; required with a URL')
    .addOption(
      new Option(
        '--reader-kind <kind>',
        'chat (default): a chat model; cross-encoder: a model that is asked at {url}/rerank, whose decision is fitted ' +
          'to labelled questions',
      ).choices(READER_KINDS),
    )
    .addOption(
      new Option('--reader-format <format>', 'format of a cross-encoder (default: cohere)').choices(READER_FORMATS),
    )
    .option('--reader-key-env <name>', 'environment variable that holds the key of the reader')
    .option('--reader-cache <file>', 'keep scores here, so that a run repeats without calls (default: in ~/.cache)')
}

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
): Promise<FlaggedReader | undefined> {
  const { reader, readerModel: model, readerKind: kind = 'chat', readerCache } = flags
  if (reader === undefined) return undefined
  const isUrl = /^https?:\/\//.test(reader)
  if (isUrl !== (model !== undefined))
    throw new OperatorError('--reader URL needs --reader-model NAME, and a file of recorded scores has no model.')
  if (flags.readerFormat !== undefined && kind === 'chat')
    throw new OperatorError('--reader-format is that of a cross-encoder: add --reader-kind cross-encoder.')
  const parameters: ReaderParameters = {
    kind,
    model: model ?? 'recorded scores',
    prompt_sha256: kind === 'chat' ? PROMPT_SHA256 : null,
    scores: 'decide',
    passages: READ_PASSAGES_MAX,
    on_failure: 'refuse',
    calibration: DEFAULT_CHAT_READER_CALIBRATION,
  }
  if (model === undefined) return { ...(await recordedReader(reader, questions, signal)), parameters }
  const file = readerCache ?? join(userCacheFolder(), 'reader.jsonl')
  return { ...(await cachedReader(endpointReader(reader, parameters, flags), `${kind} ${model}`, file)), parameters }
}

export function readerFailed(error: ReaderError): OperatorError {
  return new OperatorError(`The reader failed (${error.message}): repeat the run, which keeps what was read.`, {
    cause: error,
  })
}

function endpointReader(
  url: string,
  parameters: ReaderParameters,
  { readerKeyEnv, readerFormat }: ReaderFlags,
): Reader {
  const key = readerKeyEnv === undefined ? undefined : secretVariable(readerKeyEnv)
  return createReader(parameters, {
    READER_BASE_URL: url,
    READER_API_KEY: key,
    READER_FORMAT: readerFormat ?? 'cohere',
    READER_TIMEOUT_MS: READING_BOUNDS.readerTimeoutMaxMs,
  })
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
