import type { RewriterParameters } from '#core/domain/retrieval-profile.ts'
import { withinFilters } from '#core/index/format/description.ts'
import { createRewriter, type Rewriter, type RewriterSettings } from '#core/rewriting/rewriter.ts'
import { GATEWAY_BOUNDS } from '#gateway/bounds.ts'
import { askModel, type ModelUse } from './ask-model.ts'
import type { Slot } from './concurrency-limit.ts'
import { openedOnFirstUse } from './opened.ts'
import type { RequestContext } from './request-context.ts'
import type { PinnedRequest } from './pin.ts'
import { timeLeft } from './time-left.ts'

export type RewriterUse = ModelUse<'rewritten'>

/** Returns the rewriter of a profile; opens it on first use. */
export type RewriterOf = (parameters: RewriterParameters) => Rewriter

export function rewritersOf(settings: RewriterSettings): RewriterOf {
  return openedOnFirstUse(
    GATEWAY_BOUNDS.modelsOpenMax,
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
  const asking = { slot, use, done: 'rewritten', onFailure: rewriter.on_failure } as const
  const rewriting = await askModel(context, asking, () =>
    rewriterOf(rewriter).rewrite(pinned.query, knowledgeBase, timeLeft('rewrite', context, pinned), context.signal),
  )
  return rewriting?.queries ?? []
}
