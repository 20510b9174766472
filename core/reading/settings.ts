import { baseUrl, httpKey, optional, wholeNumber } from '#core/platform/config.ts'
import type { Variable } from '#core/platform/config.ts'
import { READING_BOUNDS } from './bounds.ts'

/** Variables of the endpoint of chat readers. A cross-encoder is asked at the re-ranking endpoint. */
export const READING_SETTINGS = {
  READER_BASE_URL: {
    schema: optional(baseUrl),
    help: 'base URL of an OpenAI-compatible chat endpoint, e.g. http://llm:8000/v1; only profiles with a chat reader need it',
  },
  READER_API_KEY: { schema: optional(httpKey), help: 'key for the chat endpoint of readers', secret: true },
  READER_TIMEOUT_MS: {
    schema: wholeNumber(
      READING_BOUNDS.readerTimeoutMinMs,
      READING_BOUNDS.readerTimeoutMaxMs,
      READING_BOUNDS.readerTimeoutDefaultMs,
    ),
    help: 'time for one reading by a chat model',
    fallback: String(READING_BOUNDS.readerTimeoutDefaultMs),
  },
} as const satisfies Record<string, Variable<unknown>>
