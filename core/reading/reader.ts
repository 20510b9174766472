import type { ReaderParameters } from '#core/domain/retrieval-profile.ts'
import type { FoundPassage } from '#core/domain/search.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { EndpointFailure, createJsonEndpoint } from '#core/platform/json-endpoint.ts'
import { rerankedText } from '#core/reranking/order.ts'
import { RerankError, createReranker } from '#core/reranking/reranker.ts'
import type { RerankSettings } from '#core/reranking/reranker.ts'
import { READING_BOUNDS } from './bounds.ts'
import { PROMPT_SHA256, chatRequest, scoresIn, tokensIn } from './chat.ts'
import { createCircuitBreaker } from './circuit-breaker.ts'

export interface ReaderSettings extends RerankSettings {
  readonly READER_BASE_URL: string | undefined
  readonly READER_API_KEY: string | undefined
  readonly READER_TIMEOUT_MS: number
}

export interface Reading {
  /**
   * How surely each passage contains by itself what is asked for, in the order of the passages. All are finite. Recorded
   * scores of an evaluation may lack passages, or all of them.
   */
  readonly scores: readonly number[]
  /** Tokens that the endpoint reported; null if it reported none. */
  readonly tokens: number | null
}

/** Reads a question and passages with a model. Throws only `ReaderError`. */
export interface Reader {
  read(question: string, passages: readonly FoundPassage[], signal: AbortSignal): Promise<Reading>
}

/** The endpoint failed, was too slow, or sent no valid numbers. The error contains neither question nor passages. */
export class ReaderError extends Error {
  override readonly name = 'ReaderError'
  /** Tokens of a reply that cannot be used. */
  readonly tokens: number | null

  constructor(message: string, tokens: number | null = null) {
    super(message)
    this.tokens = tokens
  }
}

/**
 * Opens the reader that a profile pins. There is one attempt, because a second does not fit the time of a request.
 * @throws OperatorError without the endpoint, or where this release has other instructions than the profile pins.
 */
export function createReader(
  parameters: Pick<ReaderParameters, 'kind' | 'model' | 'prompt_sha256'>,
  settings: ReaderSettings,
): Reader {
  const { read } = parameters.kind === 'chat' ? chatReader(parameters, settings) : crossEncoder(parameters, settings)
  const breaker = createCircuitBreaker({
    failuresMax: READING_BOUNDS.readerFailuresMax,
    pauseMs: READING_BOUNDS.readerPauseMs,
    refusal: () => new ReaderError('the reader is left alone, because it failed several times in a row'),
  })
  return {
    read: (question, passages, signal) =>
      breaker.run(
        () => read(question, passages, signal),
        () => !signal.aborted,
      ),
  }
}

type Pinned = Pick<ReaderParameters, 'model' | 'prompt_sha256'>

function chatReader({ model, prompt_sha256: prompt }: Pinned, settings: ReaderSettings): Reader {
  const { READER_BASE_URL: baseUrl, READER_API_KEY: apiKey, READER_TIMEOUT_MS: timeoutMs } = settings
  if (baseUrl === undefined)
    throw new OperatorError('This profile has a reader: set READER_BASE_URL, or use a profile without one.')
  if (prompt !== PROMPT_SHA256)
    throw new OperatorError(
      'This release reads with other instructions than the profile was calibrated with: build the version again.',
    )
  const endpoint = createJsonEndpoint({ name: 'the reader', baseUrl, apiKey })
  return {
    async read(question, passages, signal) {
      const reply = await endpoint
        .chat(chatRequest(model, question, passages), {
          timeoutMs,
          replyBytesMax: READING_BOUNDS.readerReplyBytesMax,
          signal,
        })
        .catch((error: unknown) => {
          throw error instanceof EndpointFailure ? new ReaderError(error.message) : error
        })
      const tokens = tokensIn(reply)
      const scores = scoresIn(reply, passages.length)
      if (scores === undefined) throw new ReaderError('the reader did not give every passage one number', tokens)
      return { scores, tokens }
    },
  }
}

/** The scores of a cross-encoder are those of the re-ranking endpoint, on the scale of its model. */
function crossEncoder({ model }: Pinned, settings: ReaderSettings): Reader {
  const reranker = createReranker(settings)
  return {
    async read(question, passages, signal) {
      const scores = await reranker
        .score(model, question, passages.map(rerankedText), signal)
        .catch((error: unknown) => {
          throw error instanceof RerankError ? new ReaderError(error.message) : error
        })
      return { scores, tokens: null }
    },
  }
}
