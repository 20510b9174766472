import { READ_PASSAGES_MAX } from '#core/domain/retrieval-profile.ts'
import type { ReaderParameters } from '#core/domain/retrieval-profile.ts'
import { ServiceError } from '#core/platform/errors.ts'
import { ReaderError, createReader } from '#core/reading/reader.ts'
import type { Reader, ReaderSettings } from '#core/reading/reader.ts'
import { GATEWAY_BOUNDS } from '#gateway/bounds.ts'
import type { Slot } from './concurrency-limit.ts'
import { openedOnFirstUse } from './opened.ts'
import type { RequestContext } from './request-context.ts'
import type { PinnedRequest } from './pin.ts'
import type { Evidence } from './search.ts'

/** How a reading ended. */
export type ReaderResult = 'read' | 'failed'

/** What a reader did for one request. */
export interface ReaderUse {
  /** Null: nothing was read. */
  result: ReaderResult | null
  /** Tokens that the endpoint reported; null if it reported none. */
  tokens: number | null
}

/** Returns the reader of a profile; opens it on first use. */
export type ReaderOf = (parameters: ReaderParameters) => Reader

export function readersOf(settings: ReaderSettings): ReaderOf {
  return openedOnFirstUse(
    GATEWAY_BOUNDS.readersOpenMax,
    ({ kind, model, prompt_sha256: prompt }) => JSON.stringify([kind, model, prompt]),
    (parameters) => createReader(parameters, settings),
  )
}

/**
 * Has the profile's reader read the first passages, with the slot free for other requests; without one returns the list
 * unchanged. Where the reader fails, the profile says whether the request fails or the calibration without the reader
 * decides.
 * @param use takes what was used, also where this throws.
 * @throws ServiceError RETRIEVAL_UNAVAILABLE when the endpoint fails or this gateway has none, unless the profile decides
 * without.
 */
export async function read(
  readerOf: ReaderOf,
  context: RequestContext,
  { pinned, slot }: { readonly pinned: PinnedRequest; readonly slot: Pick<Slot, 'whileReleased'> },
  found: Evidence,
  use: ReaderUse,
): Promise<Evidence> {
  const { reader: parameters } = pinned.profile.parameters
  const passages = found.passages.slice(0, READ_PASSAGES_MAX)
  if (parameters === null || passages.length === 0) return found
  try {
    const known = parameters.model === pinned.profile.parameters.reranker?.model ? found.rerankScores : undefined
    const scores = parameters.kind === 'cross-encoder' ? passages.map(({ chunkId }) => known?.get(chunkId)) : []
    if (scores.length > 0 && scores.every((score) => score !== undefined)) {
      use.result = 'read'
      return { ...found, read: scores }
    }
    const reading = await slot.whileReleased(() =>
      context.timings.wait('provider', readerOf(parameters).read(pinned.query, passages, context.signal)),
    )
    use.result = 'read'
    use.tokens = reading.tokens
    return { ...found, read: reading.scores }
  } catch (cause) {
    use.result = 'failed'
    use.tokens = cause instanceof ReaderError ? cause.tokens : null
    if (parameters.on_failure === 'decide_without' && !context.signal.aborted) return found
    throw new ServiceError('RETRIEVAL_UNAVAILABLE', { cause })
  }
}
