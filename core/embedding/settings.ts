import { z } from 'zod'
import { INDEX_BOUNDS } from '#core/index/bounds.ts'
import { baseUrl, httpKey, optional, wholeNumber, wholeNumberOf } from '#core/platform/config.ts'
import type { Variable } from '#core/platform/config.ts'
import { EMBEDDING_BOUNDS } from './bounds.ts'

const prefix = optional(z.string().max(INDEX_BOUNDS.embeddingPrefixCharactersMax))
/** Control characters would reach logs and terminals. */
const modelName = z
  .string()
  .regex(/^\P{Cc}+$/u)
  .max(INDEX_BOUNDS.embeddingModelCharactersMax)

/** Where the encoder of this repository listens unless it is told otherwise. */
export const ENCODER_ADDRESS = '127.0.0.1:8766'

/** Variables of the openai embedding provider. */
export const EMBEDDING_SETTINGS = {
  EMBEDDING: {
    schema: optional(z.literal('onnx')),
    help:
      `onnx: the encoder of this repository embeds, so OPENAI_BASE_URL is http://${ENCODER_ADDRESS}/v1 unless it is ` +
      'set, and "operator build start" builds with it unless --embedding says otherwise',
  },
  OPENAI_BASE_URL: {
    schema: optional(baseUrl),
    help: 'base URL of an OpenAI-compatible embeddings endpoint, e.g. http://embeddings:8080/v1; without credentials',
  },
  OPENAI_API_KEY: {
    schema: optional(httpKey),
    help: 'key for the embeddings endpoint; optional where OPENAI_BASE_URL names a server without keys',
    secret: true,
  },
  OPENAI_MODEL: {
    schema: optional(modelName),
    help: 'embedding model of new versions',
    fallback: 'the only one that the endpoint lists, else text-embedding-3-small',
  },
  OPENAI_DIMENSIONS: {
    schema: optional(wholeNumberOf(INDEX_BOUNDS.embeddingDimensionsMin, INDEX_BOUNDS.embeddingDimensionsMax)),
    help: 'dimensions that the endpoint is asked for; set it only for a model that can shorten its vectors',
    fallback: 'those of the model, and none are asked for',
  },
  OPENAI_QUERY_PREFIX: {
    schema: prefix,
    help: 'text before each query, as the card of the model states it; spaces count, and an empty value means none',
    fallback: 'told by the endpoint or known for common models, else none',
    keepsEmpty: true,
  },
  OPENAI_PASSAGE_PREFIX: {
    schema: prefix,
    help: 'the same before each passage',
    fallback: 'told by the endpoint or known for common models, else none',
    keepsEmpty: true,
  },
  OPENAI_MAX_TOKENS: {
    schema: optional(wholeNumberOf(1, EMBEDDING_BOUNDS.embedTokensMax)),
    help: 'tokens of one text that the model embeds; a build warns of passages that are probably longer',
    fallback: 'told by the endpoint or known for common models, else no warning',
  },
  OPENAI_BATCH_TEXTS: {
    schema: wholeNumber(1, EMBEDDING_BOUNDS.embedRequestTextsMax, EMBEDDING_BOUNDS.embedRequestTextsDefault),
    help: 'texts of one request; halved where the endpoint refuses so many',
    fallback: String(EMBEDDING_BOUNDS.embedRequestTextsDefault),
  },
  OPENAI_TOKENS_PER_MINUTE: {
    schema: optional(wholeNumberOf(1, EMBEDDING_BOUNDS.embedTokensPerMinuteMax)),
    help: 'tokens that one build sends a minute',
    fallback: 'no limit',
  },
  OPENAI_RETRY_MS: {
    schema: wholeNumber(
      EMBEDDING_BOUNDS.embedBuildRetryMinMs,
      EMBEDDING_BOUNDS.embedBuildRetryMaxMs,
      EMBEDDING_BOUNDS.embedBuildRetryDefaultMs,
    ),
    help: 'time for which a build repeats one request while the endpoint is unavailable or limits it',
    fallback: String(EMBEDDING_BOUNDS.embedBuildRetryDefaultMs),
  },
  OPENAI_TIMEOUT_MS: {
    schema: wholeNumber(100, EMBEDDING_BOUNDS.embedTimeoutMaxMs, 4_000),
    help: 'total time for the embedding of one query, retries included',
    fallback: '4000',
  },
} as const satisfies Record<string, Variable<unknown>>

/** Returns the settings with the address of the encoder where `EMBEDDING` says that it embeds. */
export function withEncoder<
  T extends { readonly EMBEDDING: 'onnx' | undefined; readonly OPENAI_BASE_URL: string | undefined },
>(settings: T): T {
  if (settings.EMBEDDING === undefined || settings.OPENAI_BASE_URL !== undefined) return settings
  return { ...settings, OPENAI_BASE_URL: `http://${ENCODER_ADDRESS}/v1` }
}
