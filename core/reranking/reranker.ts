import { BOUNDS } from '#core/platform/bounds.ts'
import { z } from 'zod'
import { OperatorError } from '#core/platform/errors.ts'
import { replyText } from '#core/platform/reply-text.ts'

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
  const url = `${baseUrl.replace(/\/+$/, '')}/rerank`
  const headers = {
    'content-type': 'application/json',
    ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
  }
  return {
    async score(model, query, texts, signal) {
      const body = JSON.stringify({ model, query, documents: texts, top_n: texts.length })
      const ending = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
      const reply = await fetch(url, { method: 'POST', headers, body, signal: ending, redirect: 'error' }).catch(() => {
        throw new RerankError('the re-ranker could not be reached in time')
      })
      if (!reply.ok) {
        await reply.body?.cancel().catch(() => undefined)
        throw new RerankError(`the re-ranker answered with status ${reply.status}`)
      }
      return scoresOf(await textOf(reply), texts.length)
    },
  }
}

async function textOf(reply: Response): Promise<string> {
  const text = await replyText(reply.body ?? [], BOUNDS.rerankReplyBytesMax).catch(() => {
    throw new RerankError('the re-ranker did not finish its answer in time')
  })
  if (text === undefined) throw new RerankError('the re-ranker sent a reply that is too large')
  return text
}

/** @throws RerankError unless there is exactly one finite score for every text. */
function scoresOf(body: string, texts: number): readonly number[] {
  let json: unknown
  try {
    json = JSON.parse(body)
  } catch {
    throw new RerankError('the re-ranker sent no JSON')
  }
  const parsed = replySchema.safeParse(json)
  if (!parsed.success) throw new RerankError('the re-ranker sent a reply without valid scores')
  const scores = new Map(parsed.data.results.map(({ index, relevance_score: score }) => [index, score]))
  const inOrder = Array.from({ length: texts }, (_, index) => scores.get(index) ?? Number.NaN)
  if (parsed.data.results.length !== texts || !inOrder.every(Number.isFinite))
    throw new RerankError('the re-ranker did not score every text once')
  return inOrder
}
