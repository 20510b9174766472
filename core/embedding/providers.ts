import type { EmbeddingSpace } from '#core/index/format/manifest.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { sameSpace } from './embedder.ts'
import type { Embedder } from './embedder.ts'
import { createLocalEmbedder } from './local/embedder.ts'
import { createOpenAiEmbedder } from './openai.ts'

export interface EmbeddingSettings {
  readonly OPENAI_BASE_URL: string | undefined
  readonly OPENAI_API_KEY: string | undefined
  readonly OPENAI_MODEL: string
  readonly OPENAI_DIMENSIONS: number
  /** Total for one call of `embed`, retries included. */
  readonly OPENAI_TIMEOUT_MS: number
}

/**
 * Creates the embedder of a configured provider, or of exactly the embedding space of a projection.
 * @throws OperatorError when the provider lacks its key, or this release cannot reproduce the space.
 */
export function createEmbedder(
  wanted: EmbeddingSpace | EmbeddingSpace['provider'],
  settings: EmbeddingSettings,
): Embedder {
  const provider = typeof wanted === 'string' ? wanted : wanted.provider
  const embedder = provider === 'local' ? createLocalEmbedder() : remoteEmbedder(wanted, settings)
  if (typeof wanted !== 'string' && !sameSpace(embedder.space, wanted))
    throw new OperatorError(
      `This release cannot embed into ${wanted.provider}/${wanted.model} with ${wanted.dimensions} ` +
        'dimensions: build the knowledge base again and activate the new version.',
    )
  return embedder
}

function remoteEmbedder(wanted: EmbeddingSpace | EmbeddingSpace['provider'], settings: EmbeddingSettings): Embedder {
  const { OPENAI_API_KEY: apiKey } = settings
  if (apiKey === undefined)
    throw new OperatorError(
      'The openai embedding provider needs OPENAI_API_KEY: set it, or build with the local provider.',
    )
  const model = typeof wanted === 'string' ? settings.OPENAI_MODEL : wanted.model
  const dimensions = typeof wanted === 'string' ? settings.OPENAI_DIMENSIONS : wanted.dimensions
  return createOpenAiEmbedder({
    baseUrl: settings.OPENAI_BASE_URL,
    apiKey,
    model,
    dimensions,
    timeoutMs: settings.OPENAI_TIMEOUT_MS,
  })
}
