import { EMBEDDING_BOUNDS } from '#core/embedding/bounds.ts'
import { createBoundOrder } from '#core/platform/bound-order.ts'

/** Bounds of the encoder: its model, its requests, and its two queues. */
export const ENCODER_BOUNDS = {
  encoderThreadsMax: 64,
  // Model folder.
  modelConfigBytesMax: 1_024 * 1_024,
  tokenizerBytesMax: 64 * 1_024 * 1_024,
  modelTokensMax: 32_768,
  // One request.
  encoderBodyBytesMax: 16 * 1_024 * 1_024,
  encoderTextsMax: 256,
  encoderTextCharactersMax: 262_144,
  /** A longer one is no question, and waits with the batches. */
  questionTextsMax: 2,
  questionTokensMax: 256,
  // Waiting requests, and the time from arrival to the last vector.
  questionsWaitingMax: 64,
  batchesWaitingMax: 64,
  questionTimeoutMs: 9_000,
  batchTimeoutMs: 230_000,
  retryAfterSeconds: 1,
  /** Tokens of one run of the graph, padding included: more bring no more tokens a second, and take memory. */
  runTokensMax: 256,
  /** Tokens that two windows of a long text share. */
  windowOverlapTokens: 32,
  /** Of the first window of a long text, as a multiple of all others. */
  firstWindowWeight: 3,
  sessionYoungGenerationMb: 1,
  encoderStopTimeoutMs: 10_000,
} as const

const { assertLess } = createBoundOrder({ ...EMBEDDING_BOUNDS, ...ENCODER_BOUNDS })

assertLess('questionsWaitingMax', 'encoderTextsMax')
assertLess('batchTimeoutMs', 'embedBatchTimeoutMs')
assertLess('windowOverlapTokens', 'questionTokensMax')

export const MODELS_BOUNDS = {
  /** A larger one is refused before its first byte is kept. */
  modelFileBytesMax: 4 * 1_024 ** 3,
  fetchRedirectsMax: 5,
  /** Attempts without a single new byte. */
  fetchAttemptsMax: 4,
  fetchPauseMs: 1_000,
  /** Without a byte; a whole download has no other end than its size. */
  fetchIdleMaxMs: 60_000,
} as const

createBoundOrder(MODELS_BOUNDS).assertLess('fetchPauseMs', 'fetchIdleMaxMs')
