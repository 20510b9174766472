import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'
import { createBoundOrder } from '#core/platform/bound-order.ts'

/** Bounds of one re-ranking. */
export const RERANKING_BOUNDS = {
  rerankTimeoutMaxMs: 5_000,
  rerankReplyBytesMax: 1024 * 1024,
} as const

const { assertLess } = createBoundOrder({ ...PLATFORM_BOUNDS, ...RERANKING_BOUNDS })

assertLess('rerankTimeoutMaxMs', 'requestDeadlineMs')
