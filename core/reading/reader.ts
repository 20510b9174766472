import type { ReaderParameters } from '#core/domain/retrieval-profile.ts'
import type { FoundPassage } from '#core/domain/search.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { askJson, guardedModel, ModelError, tokensIn } from '#core/platform/json-endpoint.ts'
import type { CallBounds, EndpointAddress } from '#core/platform/json-endpoint.ts'
import type { ConfigOf } from '#core/platform/config.ts'
import { READING_BOUNDS } from './bounds.ts'
import { PROMPT_SHA256, chatScoresIn, scoringRequest } from './chat.ts'
import { RERANK_FORMATS, rerankScoresIn } from './rerank.ts'
import { readText } from './scored-list.ts'
import type { READING_SETTINGS } from './settings.ts'

export type ReaderSettings = ConfigOf<typeof READING_SETTINGS>

export interface Reading {
  /**
   * How surely each passage contains by itself what is asked for, in the order of the passages. All are finite: of a
   * chat model in [0, 1], of a cross-encoder on the scale of its model. Recorded scores of an evaluation may lack
   * passages, or all of them.
   */
  readonly scores: readonly number[]
  /** Tokens that the endpoint reported; null if it reported none. */
  readonly tokens: number | null
}

/** Scores passages by a question with a model. Throws only `ReaderError`. */
export interface Reader {
  /** @param withinMs of the call; it has less where the settings say so. */
  read(question: string, passages: readonly FoundPassage[], signal: AbortSignal, withinMs?: number): Promise<Reading>
}

/** The endpoint failed, was too slow, or sent no valid numbers. The error contains neither question nor passages. */
export class ReaderError extends ModelError {
  override readonly name = 'ReaderError'
}

type Pinned = Pick<ReaderParameters, 'kind' | 'model' | 'prompt_sha256'>

/**
 * Opens the reader that a profile pins. There is one attempt, because a second does not fit the time of a request.
 * @throws OperatorError without the endpoint, or where this release has other instructions than the profile pins.
 */
export function createReader(pinned: Pinned, settings: ReaderSettings): Reader {
  const { READER_BASE_URL: baseUrl, READER_API_KEY: apiKey, READER_TIMEOUT_MS: timeoutMs } = settings
  if (baseUrl === undefined)
    throw new OperatorError('This profile has a reader: set READER_BASE_URL, or use a profile without one.')
  const { ask, scoresIn } = transportOf(pinned, { name: 'the reader', baseUrl, apiKey }, settings)
  const { readerFailuresMax: failuresMax, readerPauseMs: pauseMs } = READING_BOUNDS
  const guarded = guardedModel('the reader', ReaderError, { failuresMax, pauseMs })
  return {
    async read(question, passages, signal, withinMs = timeoutMs) {
      const bounds = {
        timeoutMs: Math.min(timeoutMs, withinMs),
        replyBytesMax: READING_BOUNDS.readerReplyBytesMax,
        signal,
      }
      const reply = await guarded(signal, () => ask(question, passages, bounds))
      const [scores, tokens] = [scoresIn(reply, passages.length), tokensIn(reply)]
      // What a question makes the model write is no fault of its endpoint: no caller can deny it to others.
      if (scores === undefined) throw new ReaderError('the reader did not give every passage one number', tokens)
      return { scores, tokens }
    },
  }
}

/** How a kind of model is asked. */
interface Transport {
  ask(question: string, passages: readonly FoundPassage[], bounds: CallBounds): Promise<unknown>
  /** @returns undefined unless the reply has one valid number a passage. */
  scoresIn(reply: unknown, passages: number): readonly number[] | undefined
}

function transportOf(
  { kind, model, prompt_sha256: prompt }: Pinned,
  address: EndpointAddress,
  { READER_FORMAT: formatName }: ReaderSettings,
): Transport {
  if (kind === 'cross-encoder') {
    const format = RERANK_FORMATS[formatName]
    return {
      ask: (question, passages, bounds) =>
        askJson(address, '/rerank', bounds, format.body(model, question, passages.map(readText))),
      scoresIn: (reply, passages) => rerankScoresIn(format, reply, passages),
    }
  }
  if (prompt !== PROMPT_SHA256)
    throw new OperatorError(
      'This release reads with other instructions than the profile was calibrated with, or the profile has a ' +
        're-ranker beside its reader, of which this release has one: build the version again.',
    )
  return {
    ask: (question, passages, bounds) =>
      askJson(address, '/chat/completions', bounds, scoringRequest(model, question, passages)),
    scoresIn: chatScoresIn,
  }
}
