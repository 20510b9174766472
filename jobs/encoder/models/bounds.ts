import { createBoundOrder } from '#core/platform/bound-order.ts'

/** Bounds of a download of a model. */
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

const { assertLess } = createBoundOrder(MODELS_BOUNDS)

assertLess('fetchPauseMs', 'fetchIdleMaxMs')
