import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'
import { createBoundOrder } from '#core/platform/bound-order.ts'

export const EMBEDDING_BOUNDS = {
  /** Texts that a build or evaluation gives to the embedder at once. */
  embedBatchTexts: 64,
  embedConcurrencyDefault: 4,
  /** Batches of a build that a provider has at once. */
  embedConcurrencyMax: 64,
  /** Texts of one request: as many as the most restrictive servers accept by default. */
  embedRequestTextsDefault: 32,
  embedRequestTextsMax: 2_048,
  embedTokensMax: 1_000_000,
  /** Numbers of `embeddingDimensionsMax` dimensions as indented JSON take up to 150 KiB. */
  embedReplyBytesPerTextMax: 192 * 1_024,
  /** Tokens of one text that a model or its server adds: marks of beginning and end, or a template. */
  embedExtraTokensMax: 1_000,
  embedTokensPerMinuteMax: 1_000_000_000,
  /** One of the sleeps of a longer wait: a timer of more than 2^31 - 1 ms ends at once. */
  embedRateSleepMaxMs: 86_400_000,

  /** Of two vectors of one text by one model, whose replies may differ by rounding and precision. */
  probeCosineMin: 0.999,

  // What an endpoint tells of its models.
  servedModelsMax: 10_000,
  servedModelsBytesMax: 8 * 1_024 * 1_024,
  servedModelsTimeoutMs: 5_000,

  // A query, whose caller waits.
  embedTimeoutMaxMs: 9_000,
  embedAttemptsMax: 3,
  /** Code points of a window of a query that the endpoint does not take whole. */
  embedQueryWindowCharacters: 400,
  embedBackoffFirstMs: 100,
  embedBackoffMaxMs: 1_000,

  // Passages and questions of a build, which outlast an endpoint that is unavailable or limits its callers.
  /** One attempt. A large model on few cores takes minutes for a full request while others are in flight. */
  embedBatchTimeoutMs: 240_000,
  embedBuildRetryMinMs: 60_000,
  embedBuildRetryDefaultMs: 600_000,
  embedBuildRetryMaxMs: 3_600_000,
  embedBuildAttemptsMax: 1_000,
  embedBuildBackoffFirstMs: 500,
  embedBuildBackoffMaxMs: 30_000,
  /** First request to an endpoint that a command line names. */
  flaggedEndpointRetryMs: 10_000,
} as const

const { assertLess } = createBoundOrder({ ...PLATFORM_BOUNDS, ...EMBEDDING_BOUNDS })

assertLess('embedTimeoutMaxMs', 'requestDeadlineMs')
assertLess('embedBackoffMaxMs', 'requestDeadlineMs')
assertLess('embedBatchTimeoutMs', 'embedBuildRetryDefaultMs')
assertLess('embedBuildBackoffMaxMs', 'embedBuildRetryMinMs', 'embedBuildRetryDefaultMs', 'embedBuildRetryMaxMs')
