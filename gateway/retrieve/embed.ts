import type { EmbeddingSpace } from '#core/index/format/manifest.ts'
import { EmbeddingError, spaceKey, type Embedder } from '#core/embedding/embedder.ts'
import { createEmbedder, type EndpointSettings } from '#core/embedding/providers.ts'
import { timeLimit } from '#core/platform/with-timeout.ts'
import { GATEWAY_BOUNDS } from '#gateway/bounds.ts'
import type { Slot } from './concurrency-limit.ts'
import { openedOnFirstUse } from './opened.ts'
import type { RequestContext } from './request-context.ts'
import type { PinnedRequest } from './pin.ts'
import { unavailable } from './ask-model.ts'
import { timeLeft } from './time-left.ts'

/** The query's vector; undefined for a version without vectors, which words alone rank. */
export interface EmbeddedQuery {
  readonly vector: Float32Array<ArrayBuffer> | undefined
  /** Tokens that the provider reported; null if it reported none. */
  readonly tokens: number | null
}

/** Returns the embedder of an embedding space; opens it on first use. */
export type EmbedderOf = (space: EmbeddingSpace) => Embedder

export function embeddersOf(settings: EndpointSettings): EmbedderOf {
  // Two versions of one space may hold probes of different models.
  const nameOf = (space: EmbeddingSpace): string => `${spaceKey(space)} ${space.probes?.join(' ') ?? ''}`
  return openedOnFirstUse(GATEWAY_BOUNDS.modelsOpenMax, nameOf, (space) => createEmbedder(space, settings))
}

/**
 * Embeds the query in the embedding space of the version, with the slot free for other requests. Without a space, no
 * provider is asked and the slot is kept.
 * @throws ServiceError RETRIEVAL_UNAVAILABLE when the provider fails, or this gateway has none for the space.
 */
export async function embed(
  embedderOf: EmbedderOf,
  context: RequestContext,
  pinned: PinnedRequest,
  slot: Slot,
  [query = pinned.query]: readonly string[] = [],
): Promise<EmbeddedQuery> {
  const { embedding } = pinned.profile
  if (embedding === null) return { vector: undefined, tokens: null }
  using late = timeLimit(timeLeft('embed', context, pinned))
  const withinTime = AbortSignal.any([context.signal, late.signal])
  try {
    const { vectors, tokens } = await slot.whileReleased(() =>
      context.timings.wait('provider', embedderOf(embedding).embed([query], 'query', withinTime)),
    )
    const [vector] = vectors
    if (vector === undefined) throw new EmbeddingError('the provider sent no vector')
    return { vector, tokens }
  } catch (cause) {
    throw unavailable(cause)
  }
}
