import { z } from 'zod'
import type { ConfigOf } from '#core/platform/config.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { askJson, guardedModel, ModelError, tokensIn, type EndpointAddress } from '#core/platform/json-endpoint.ts'
import { REWRITING_BOUNDS } from './bounds.ts'
import { REWRITING_PROMPT_SHA256, queriesIn, rewritingRequest } from './prompt.ts'
import type { REWRITING_SETTINGS } from './settings.ts'

export type RewriterSettings = ConfigOf<typeof REWRITING_SETTINGS>

export interface Rewriting {
  /** Best first; at least one, each of at most `rewrittenCharactersMax` code points. */
  readonly queries: readonly string[]
  /** Tokens that the endpoint reported; null if it reported none. */
  readonly tokens: number | null
}

/** Writes search queries for questions. Throws only `RewriterError`. */
export interface Rewriter {
  /** @param knowledgeBase what the request may be told of it. @param timeoutMs total for the call. */
  rewrite(question: string, knowledgeBase: object, timeoutMs: number, signal: AbortSignal): Promise<Rewriting>
}

/** The endpoint failed, was too slow, or wrote no usable query. The error contains neither question nor queries. */
class RewriterError extends ModelError {
  override readonly name = 'RewriterError'
}

/** The endpoint answered, and wrote no query that can be searched. */
export class NoUsableQueryError extends RewriterError {}

const replySchema = z.object({ model: z.string().optional() })

/**
 * Opens the rewriter that a profile pins. There is one attempt, because a second does not fit the time of a request.
 * @throws OperatorError without the endpoint, or where this release has other instructions than the profile pins.
 */
export function createRewriter(
  { model, prompt_sha256: prompt }: { readonly model: string; readonly prompt_sha256: string },
  { REWRITER_BASE_URL: baseUrl, REWRITER_API_KEY: apiKey }: RewriterSettings,
): Rewriter {
  if (baseUrl === undefined)
    throw new OperatorError('This profile has a rewriter: set REWRITER_BASE_URL, or use a profile without one.')
  if (prompt !== REWRITING_PROMPT_SHA256)
    throw new OperatorError(
      'This release rewrites with other instructions than the profile was calibrated with: build the version again.',
    )
  const address: EndpointAddress = { name: 'the rewriter', baseUrl, apiKey }
  const { rewriterFailuresMax: failuresMax, rewriterPauseMs: pauseMs } = REWRITING_BOUNDS
  const guarded = guardedModel('the rewriter', RewriterError, { failuresMax, pauseMs })
  const ask = async (...[question, knowledgeBase, timeoutMs, signal]: Parameters<Rewriter['rewrite']>) => {
    const bounds = {
      timeoutMs: Math.min(timeoutMs, REWRITING_BOUNDS.rewriterTimeoutMaxMs),
      replyBytesMax: REWRITING_BOUNDS.rewriterReplyBytesMax,
      signal,
    }
    const reply = await askJson(address, '/chat/completions', bounds, rewritingRequest(model, question, knowledgeBase))
    const { data } = replySchema.safeParse(reply)
    if (data?.model !== undefined && data.model !== model)
      throw new RewriterError('another model than the pinned one wrote the queries', tokensIn(reply))
    return reply
  }
  let underWay = 0
  return {
    async rewrite(...asked) {
      if (underWay >= REWRITING_BOUNDS.rewriterCallsMax)
        throw new RewriterError('the rewriter is slow, and no more questions may wait for it')
      underWay++
      const reply = await guarded(asked[3], () => ask(...asked)).finally(() => underWay--)
      // What a question makes the model write is no fault of its endpoint: no caller can deny it to others.
      const [queries, tokens] = [queriesIn(reply), tokensIn(reply)]
      if (queries === undefined) throw new NoUsableQueryError('the rewriter wrote no usable query', tokens)
      return { queries, tokens }
    },
  }
}
