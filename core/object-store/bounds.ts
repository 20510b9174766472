import { createBoundOrder } from '#core/platform/bound-order.ts'

export const OBJECT_BOUNDS = {
  connectTimeoutMs: 5_000,
  /** One call, with its body: a part in this time is a quarter of a MiB a second. */
  callTimeoutMs: 60_000,
  /** Tries of one call, and the pause before the second one; it doubles. */
  callsMax: 4,
  retryFirstMs: 200,
  /** A larger file is sent in parts, of which S3 takes 10,000 of at least 5 MiB. */
  partBytes: 16 * 1_024 * 1_024,
  partsMax: 10_000,
  /** What one call receives of a file; an interrupted one continues after it. */
  rangeBytes: 16 * 1_024 * 1_024,
  /** Parts of one file that are sent, and files of one artifact that are received, at once. */
  partsAtOnceMax: 4,
  filesAtOnceMax: 4,
  /** An object that is read into memory: the list of versions, a head, a manifest. */
  smallBytesMax: 1_024 * 1_024,
} as const

const { assertLess } = createBoundOrder(OBJECT_BOUNDS)
assertLess('connectTimeoutMs', 'callTimeoutMs')
assertLess('smallBytesMax', 'partBytes')
