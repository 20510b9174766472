import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'
import { createBoundOrder } from '#core/platform/bound-order.ts'

export const READING_BOUNDS = {
  readerTimeoutMinMs: 100,
  readerTimeoutDefaultMs: 4_000,
  readerTimeoutMaxMs: 8_000,
  readerReplyBytesMax: 1024 * 1024,
  /** Tokens that a chat model may write for each passage: a number with its name, and spaces of a model that indents. */
  readerReplyTokensPerPassage: 40,
  /** UTF-16 units of a passage that a chat model sees, and of these for the beginning of a longer one. */
  readerPassageCharactersMax: 1_600,
  readerLeadInCharactersMax: 240,
  /** Failures in a row after which the endpoint is left alone, and for how long. */
  readerFailuresMax: 5,
  readerPauseMs: 5_000,
} as const

const { assertLess } = createBoundOrder({ ...PLATFORM_BOUNDS, ...READING_BOUNDS })

assertLess('readerTimeoutMinMs', 'readerTimeoutDefaultMs', 'readerTimeoutMaxMs', 'requestDeadlineMs')
assertLess('readerLeadInCharactersMax', 'readerPassageCharactersMax')
