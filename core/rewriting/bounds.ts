import { SEARCH_BOUNDS } from '#core/domain/bounds.ts'
import { createBoundOrder } from '#core/platform/bound-order.ts'
import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'

export const REWRITING_BOUNDS = {
  rewriterTimeoutMaxMs: 6_000,
  rewriterReplyBytesMax: 256 * 1_024,
  /** Three queries of twenty words in any script, with what a model that indents adds. */
  rewriterReplyTokensMax: 600,
  /** Queries of a reply that are read; a longer list is no reply to these instructions. */
  rewriterQueriesReadMax: 10,
  /** Of one gateway to one rewriter at once; a further one is refused at once. */
  rewriterCallsMax: 100,
  rewriterFailuresMax: 5,
  rewriterPauseMs: 5_000,
} as const

const { assertLess } = createBoundOrder({ ...PLATFORM_BOUNDS, ...SEARCH_BOUNDS, ...REWRITING_BOUNDS })

assertLess('rewriterTimeoutMaxMs', 'requestDeadlineMs')
assertLess('rewrittenQueriesMax', 'rewriterQueriesReadMax')
