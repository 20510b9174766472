import { embeddingSpaceSchema } from '#core/index/format/manifest.ts'
import type { EmbeddingSpace } from '#core/index/format/manifest.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { sameSpace } from './embedder.ts'
import type { Embedder } from './embedder.ts'
import { createLocalEmbedder } from './local/embedder.ts'
import { createOpenAiEmbedder, learnDimensions } from './openai.ts'
import type { Endpoint } from './openai.ts'

/** The endpoint, which embeds into a space that is known. */
export interface EndpointSettings {
  readonly OPENAI_BASE_URL: string | undefined
  readonly OPENAI_API_KEY: string | undefined
  /** Total for one call of `embed`, retries included. */
  readonly OPENAI_TIMEOUT_MS: number
}

/** The endpoint, and the space of a new version. */
export interface EmbeddingSettings extends EndpointSettings {
  readonly OPENAI_MODEL: string
  /** Undefined: those that the model has, learnt from one request. */
  readonly OPENAI_DIMENSIONS: number | undefined
  readonly OPENAI_QUERY_PREFIX: string | undefined
  readonly OPENAI_PASSAGE_PREFIX: string | undefined
}

/**
 * Opens the embedder of a new version. Where OPENAI_DIMENSIONS is not set, one request learns them.
 * @throws OperatorError when the provider lacks what it needs; EmbeddingError when that request fails.
 */
export async function openEmbedder(
  provider: EmbeddingSpace['provider'],
  settings: EmbeddingSettings,
  signal: AbortSignal,
): Promise<Embedder> {
  if (provider === 'local') return createLocalEmbedder()
  const { OPENAI_MODEL: model, OPENAI_DIMENSIONS: wanted } = settings
  const endpoint = endpointOf(settings)
  const space = embeddingSpaceSchema.parse({
    provider,
    model,
    dimensions: wanted ?? (await learnDimensions(endpoint, model, signal)),
    query_prefix: settings.OPENAI_QUERY_PREFIX,
    passage_prefix: settings.OPENAI_PASSAGE_PREFIX,
    requests_dimensions: wanted !== undefined,
  })
  return createOpenAiEmbedder(space, endpoint)
}

/**
 * Creates the embedder of exactly the embedding space of a projection.
 * @throws OperatorError when the provider lacks what it needs, or this release cannot reproduce the space.
 */
export function createEmbedder(space: EmbeddingSpace, settings: EndpointSettings): Embedder {
  if (space.provider === 'openai') return createOpenAiEmbedder(space, endpointOf(settings))
  const embedder = createLocalEmbedder()
  if (!sameSpace(embedder.space, space))
    throw new OperatorError(
      `This release cannot embed into ${space.provider}/${space.model} with ${space.dimensions} ` +
        'dimensions: build the knowledge base again and activate the new version.',
    )
  return embedder
}

function endpointOf(settings: EndpointSettings): Endpoint {
  const { OPENAI_API_KEY: apiKey, OPENAI_BASE_URL: baseUrl, OPENAI_TIMEOUT_MS: timeoutMs } = settings
  if (apiKey === undefined && baseUrl === undefined)
    throw new OperatorError(
      'The openai embedding provider needs OPENAI_API_KEY, or OPENAI_BASE_URL of a server without keys: set one, or ' +
        'build with the local provider.',
    )
  return { baseUrl, apiKey, timeoutMs }
}
