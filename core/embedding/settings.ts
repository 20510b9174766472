import { z } from 'zod'
import { INDEX_BOUNDS } from '#core/index/bounds.ts'
import { prefixSchema } from '#core/index/format/manifest.ts'
import { baseUrl, httpKey, optional, wholeNumber, type Variable } from '#core/platform/config.ts'
import { EMBEDDING_BOUNDS } from './bounds.ts'

/** Control characters would reach logs and terminals. */
const modelName = z
  .string()
  .regex(/^\P{Cc}+$/u)
  .max(INDEX_BOUNDS.embeddingModelCharactersMax)

/**
 * How a build uses the endpoint; kept with the build. What is absent is told by the endpoint, known of the model, or a
 * default.
 */
export const endpointOptionsSchema = z
  .strictObject({
    /** Embedding model. Absent: the only one that the endpoint lists, else `DEFAULT_MODEL`. */
    model: modelName,
    /** Dimensions that the endpoint is asked for. Absent: none are, and those of the model are learnt. */
    dimensions: z.int().min(INDEX_BOUNDS.embeddingDimensionsMin).max(INDEX_BOUNDS.embeddingDimensionsMax),
    /** Text before each query and passage. Absent: as the model was trained. */
    query_prefix: prefixSchema,
    passage_prefix: prefixSchema,
    /** Tokens of one text that the model embeds. */
    tokens_max: z.int().min(1).max(EMBEDDING_BOUNDS.embedTokensMax),
    batch_texts: z.int().min(1).max(EMBEDDING_BOUNDS.embedRequestTextsMax),
    /** Batches of passages that are sent at once. */
    concurrency: z.int().min(1).max(EMBEDDING_BOUNDS.embedConcurrencyMax),
    tokens_per_minute: z.int().min(1).max(EMBEDDING_BOUNDS.embedTokensPerMinuteMax),
    /** Time for which one request is repeated. */
    retry_ms: z.int().min(EMBEDDING_BOUNDS.embedBuildRetryMinMs).max(EMBEDDING_BOUNDS.embedBuildRetryMaxMs),
    chat_model: modelName,
  })
  .partial()
export type EndpointOptions = z.infer<typeof endpointOptionsSchema>

/** Where the encoder of this repository listens unless it is told otherwise. */
export const ENCODER_ADDRESS = '127.0.0.1:8766'

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
  OPENAI_TIMEOUT_MS: {
    schema: wholeNumber(100, EMBEDDING_BOUNDS.embedTimeoutMaxMs, 4_000),
    help: 'total time for the embedding of one query, retries included',
  },
} as const satisfies Record<string, Variable<unknown>>

/** Returns the settings with the address of the encoder where `EMBEDDING` says that it embeds. */
export function withEncoder<
  T extends { readonly EMBEDDING: 'onnx' | undefined; readonly OPENAI_BASE_URL: string | undefined },
>(settings: T): T {
  if (settings.EMBEDDING === undefined || settings.OPENAI_BASE_URL !== undefined) return settings
  return { ...settings, OPENAI_BASE_URL: `http://${ENCODER_ADDRESS}/v1` }
}
