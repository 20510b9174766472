import type { EmbeddingSpace } from '#core/index/format/manifest.ts'
import { EmbeddingError, spaceKey } from '#core/embedding/embedder.ts'
import type { Embedder } from '#core/embedding/embedder.ts'
import { createEmbedder } from '#core/embedding/providers.ts'
import type { EndpointSettings } from '#core/embedding/providers.ts'
import { ServiceError } from '#core/platform/errors.ts'
import type { Exchange } from './exchange.ts'
import type { PinnedRequest } from './pin.ts'

export interface EmbeddedQuery {
  readonly vector: Float32Array<ArrayBuffer>
  /** As reported by the provider; null when it reports none. */
  readonly tokens: number | null
}

/** Returns the embedder of an embedding space; opens it on first use. */
export type EmbedderOf = (space: EmbeddingSpace) => Embedder

export function embeddersOf(settings: EndpointSettings): EmbedderOf {
  const opened = new Map<string, Embedder>()
  return (space) => {
    const name = spaceKey(space)
    const embedder = opened.get(name) ?? createEmbedder(space, settings)
    opened.set(name, embedder)
    return embedder
  }
}

/**
 * Embeds the query in the embedding space of the version.
 * @throws ServiceError RETRIEVAL_UNAVAILABLE when the provider fails, or this gateway has none for the space.
 */
export async function embed(embedderOf: EmbedderOf, exchange: Exchange, pinned: PinnedRequest): Promise<EmbeddedQuery> {
  try {
    const { vectors, tokens } = await exchange.timings.wait(
      'provider',
      embedderOf(pinned.profile.embedding).embed([pinned.query], 'query', exchange.signal),
    )
    const [vector] = vectors
    if (vector === undefined) throw new EmbeddingError('the provider sent no vector')
    return { vector, tokens }
  } catch (cause) {
    throw new ServiceError('RETRIEVAL_UNAVAILABLE', { cause })
  }
}
