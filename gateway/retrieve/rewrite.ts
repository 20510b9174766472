import type { RewriterParameters } from '#core/domain/retrieval-profile.ts'
import { OperatorError, ServiceError } from '#core/platform/errors.ts'
import { withinFilters } from '#core/index/format/description.ts'
import { RewriterError, createRewriter, type Rewriter, type RewriterSettings } from '#core/rewriting/rewriter.ts'
import { GATEWAY_BOUNDS } from '#gateway/bounds.ts'
import type { Slot } from './concurrency-limit.ts'
import { openedOnFirstUse } from './opened.ts'
import type { RequestContext } from './request-context.ts'
import type { PinnedRequest } from './pin.ts'
import { timeLeft } from './time-left.ts'

/** What a rewriter did for one request. */
export interface RewriterUse {
  /** Null: none was asked. */
  result: 'rewritten' | 'failed' | null
  /** Tokens that the endpoint reported; null if it reported none. */
  tokens: number | null
}

/** Returns the rewriter of a profile; opens it on first use. */
export type RewriterOf = (parameters: RewriterParameters) => Rewriter

export function rewritersOf(settings: RewriterSettings): RewriterOf {
  return openedOnFirstUse(
    GATEWAY_BOUNDS.rewritersOpenMax,
    ({ model, prompt_sha256: prompt }) => JSON.stringify([model, prompt]),
    (parameters) => createRewriter(parameters, settings),
  )
}

/**
 * Has the profile's rewriter write search queries for the question, with the slot free for other requests. Without a
 * rewriter, or where the entitlement allows no assistance by a chat model, the question's own words are searched.
 * @param use takes what was used, also where this throws.
 * @returns queries, best first; none: the question's own words rank.
 * @throws ServiceError RETRIEVAL_UNAVAILABLE when the endpoint fails or this gateway has none, unless the profile goes
 * on without.
 */
export async function rewrite(
  rewriterOf: RewriterOf,
  context: RequestContext,
  { pinned, slot }: { readonly pinned: PinnedRequest; readonly slot: Pick<Slot, 'whileReleased'> },
  use: RewriterUse,
): Promise<readonly string[]> {
  const { rewriter } = pinned.profile.parameters
  if (rewriter === null || !pinned.assistance) return []
  const knowledgeBase = withinFilters(rewriter.description, pinned.filters)
  try {
    const { queries, tokens } = await slot.whileReleased(() => {
      const timeoutMs = timeLeft('rewrite', context, pinned)
      const call = rewriterOf(rewriter).rewrite(pinned.query, knowledgeBase, timeoutMs, context.signal)
      return context.timings.wait('provider', call)
    })
    Object.assign(use, { result: 'rewritten', tokens })
    return queries
  } catch (cause) {
    Object.assign(use, { result: 'failed', tokens: cause instanceof RewriterError ? cause.tokens : null })
    const isAsked = !(cause instanceof OperatorError)
    if (isAsked && rewriter.on_failure === 'decide_without' && !context.signal.aborted) return []
    throw new ServiceError('RETRIEVAL_UNAVAILABLE', { cause })
  }
}
