import { z } from 'zod'
import { OperatorError } from '#core/platform/errors.ts'
import { EndpointFailure, createJsonEndpoint } from '#core/platform/json-endpoint.ts'
import { RERANKING_BOUNDS } from './bounds.ts'

export interface RerankSettings {
  readonly RERANK_BASE_URL: string | undefined
  readonly RERANK_API_KEY: string | undefined
  /** Total for one call. */
  readonly RERANK_TIMEOUT_MS: number
}

/** Scores texts against a query with a model behind an HTTP endpoint. Throws only `RerankError`. */
export interface Reranker {
  /** @returns one finite score per text, in their order. Higher is better; only their order has a meaning. */
  score(model: string, query: string, texts: readonly string[], signal: AbortSignal): Promise<readonly number[]>
}

/** The endpoint failed, was too slow, or sent invalid scores. The error never contains query or texts. */
export class RerankError extends Error {
  override readonly name = 'RerankError'
}

const replySchema = z.object({
  results: z.array(z.object({ index: z.int().nonnegative(), relevance_score: z.number() })),
})

/**
 * Uses an endpoint with the interface of Cohere and Jina: `POST {base}/rerank` with `model`, `query`, `documents` and
 * `top_n`. There is one attempt, because a second does not fit the time of a request.
 * @throws OperatorError without RERANK_BASE_URL.
 */
export function createReranker({
  RERANK_BASE_URL: baseUrl,
  RERANK_API_KEY: apiKey,
  RERANK_TIMEOUT_MS: timeoutMs,
}: RerankSettings): Reranker {
  if (baseUrl === undefined)
    throw new OperatorError(
      'This profile re-ranks its passages: set RERANK_BASE_URL, or use a profile without a re-ranker.',
    )
  const endpoint = createJsonEndpoint({ name: 'the re-ranker', baseUrl, apiKey })
  return {
    async score(model, query, texts, signal) {
      const body = { model, query, documents: texts, top_n: texts.length }
      const request = { path: '/rerank', body, timeoutMs, replyBytesMax: RERANKING_BOUNDS.rerankReplyBytesMax, signal }
      const reply = await endpoint.post(request).catch((error: unknown) => {
        throw error instanceof EndpointFailure ? new RerankError(error.message) : error
      })
      return scoresOf(reply, texts.length)
    },
  }
}

/** @throws RerankError unless there is exactly one finite score for every text. */
function scoresOf(reply: unknown, texts: number): readonly number[] {
  const parsed = replySchema.safeParse(reply)
  if (!parsed.success) throw new RerankError('the re-ranker sent a reply without valid scores')
  const scores = new Map(parsed.data.results.map(({ index, relevance_score: score }) => [index, score]))
  const inOrder = Array.from({ length: texts }, (_, index) => scores.get(index) ?? Number.NaN)
  if (parsed.data.results.length !== texts || !inOrder.every(Number.isFinite))
    throw new RerankError('the re-ranker did not score every text once')
  return inOrder
}
