import { z } from 'zod'
import { OperatorError } from '#core/platform/errors.ts'
import { EndpointFailure, postJson } from '#core/platform/json-endpoint.ts'
import { RERANKING_BOUNDS } from './bounds.ts'

export const RERANK_FORMATS = ['cohere', 'tei'] as const

export interface RerankSettings {
  readonly RERANK_BASE_URL: string | undefined
  readonly RERANK_FORMAT: (typeof RERANK_FORMATS)[number]
  readonly RERANK_API_KEY: string | undefined
  /** Total for one call. */
  readonly RERANK_TIMEOUT_MS: number
}

/** Scores texts against a query with a model behind an HTTP endpoint. Throws only `RerankError`. */
export interface Reranker {
  /** @returns one finite score per text, in their order. Higher is better; the scale is that of the model. */
  score(model: string, query: string, texts: readonly string[], signal: AbortSignal): Promise<readonly number[]>
}

/** The endpoint failed, was too slow, or sent invalid scores. The error never contains query or texts. */
export class RerankError extends Error {
  override readonly name = 'RerankError'
}

interface Scored {
  readonly index: number
  readonly score: number
}

interface Format {
  body(model: string, query: string, texts: readonly string[]): object
  /** @returns undefined for a reply of another form. */
  scored(reply: unknown): readonly Scored[] | undefined
}

const index = z.int().nonnegative()
const cohereReply = z.object({ results: z.array(z.object({ index, relevance_score: z.number() })) })
const teiReply = z.array(z.object({ index, score: z.number() }))

const FORMATS: Readonly<Record<RerankSettings['RERANK_FORMAT'], Format>> = {
  cohere: {
    body: (model, query, documents) => ({ model, query, documents, top_n: documents.length }),
    scored: (reply) =>
      cohereReply.safeParse(reply).data?.results.map(({ index: at, relevance_score: score }) => ({ index: at, score })),
  },
  // The server has one model, so none is named. It refuses a text that is too long unless it may cut it.
  tei: {
    body: (_model, query, texts) => ({ query, texts, truncate: true }),
    scored: (reply) => teiReply.safeParse(reply).data,
  },
}

/**
 * Uses an endpoint at `POST {base}/rerank`. There is one attempt, because a second does not fit the time of a request.
 * @throws OperatorError without RERANK_BASE_URL.
 */
export function createReranker({
  RERANK_BASE_URL: baseUrl,
  RERANK_FORMAT: formatName,
  RERANK_API_KEY: apiKey,
  RERANK_TIMEOUT_MS: timeoutMs,
}: RerankSettings): Reranker {
  if (baseUrl === undefined)
    throw new OperatorError(
      'This profile has a re-ranker or cross-encoder: set RERANK_BASE_URL, or use a profile without one.',
    )
  const format = FORMATS[formatName]
  const endpoint = { name: 'the re-ranker', baseUrl, apiKey }
  return {
    async score(model, query, texts, signal) {
      const body = format.body(model, query, texts)
      const bounds = { timeoutMs, replyBytesMax: RERANKING_BOUNDS.rerankReplyBytesMax, signal }
      const reply = await postJson(endpoint, '/rerank', body, bounds).catch((error: unknown) => {
        throw error instanceof EndpointFailure ? new RerankError(error.message) : error
      })
      return scoresOf(format.scored(reply), texts.length)
    },
  }
}

/** @throws RerankError unless there is exactly one finite score for every text. */
function scoresOf(scored: readonly Scored[] | undefined, texts: number): readonly number[] {
  if (scored === undefined) throw new RerankError('the re-ranker sent a reply without valid scores')
  const scores = new Map(scored.map(({ index: at, score }) => [at, score]))
  const inOrder = Array.from({ length: texts }, (_, at) => scores.get(at) ?? Number.NaN)
  if (scored.length !== texts || !inOrder.every(Number.isFinite))
    throw new RerankError('the re-ranker did not score every text once')
  return inOrder
}
