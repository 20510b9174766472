import { OperatorError, ServiceError } from '#core/platform/errors.ts'
import { EmbeddingError } from '#core/embedding/embedder.ts'
import { ModelError } from '#core/platform/json-endpoint.ts'
import type { Slot } from './concurrency-limit.ts'
import type { RequestContext } from './request-context.ts'

/** What a model did for one request. */
export interface ModelUse<R extends string> {
  /** How it ended. Null: none was asked. */
  result: R | 'failed' | null
  /** Tokens that the endpoint reported; null if it reported none. */
  tokens: number | null
}

interface Asking<R extends string> {
  readonly slot: Pick<Slot, 'whileReleased'>
  /** Takes what was used, also where the call fails. */
  readonly use: ModelUse<R>
  /** The result of a call that does not fail. */
  readonly done: R
  readonly onFailure: 'refuse' | 'decide_without'
}

/**
 * Asks a model that the profile names, with the slot free for other requests.
 * @returns undefined: it failed, and the profile goes on without.
 * @throws ServiceError RETRIEVAL_UNAVAILABLE when the endpoint fails or this gateway has none, unless the profile goes
 * on without.
 */
export async function askModel<R extends string, T extends { readonly tokens: number | null }>(
  { timings, signal }: RequestContext,
  { slot, use, done, onFailure }: Asking<R>,
  call: () => Promise<T>,
): Promise<T | undefined> {
  try {
    const reply = await slot.whileReleased(() => timings.wait('provider', call()))
    Object.assign(use, { result: done, tokens: reply.tokens })
    return reply
  } catch (cause) {
    Object.assign(use, { result: 'failed', tokens: cause instanceof ModelError ? cause.tokens : null })
    if (!(cause instanceof OperatorError) && onFailure === 'decide_without' && !signal.aborted) return undefined
    throw unavailable(cause)
  }
}

/** Callers wait as long as the endpoint asks, within the bounds of `gateway/outages.ts`. */
export function unavailable(cause: unknown): ServiceError {
  const askedMs = cause instanceof ModelError || cause instanceof EmbeddingError ? cause.retryAfterMs : undefined
  return new ServiceError('RETRIEVAL_UNAVAILABLE', { cause, retryAfterSeconds: (askedMs ?? 0) / 1_000 })
}
