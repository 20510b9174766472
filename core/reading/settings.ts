import { z } from 'zod'
import { baseUrl, httpKey, optional, wholeNumber, type Variable } from '#core/platform/config.ts'
import { READING_BOUNDS } from './bounds.ts'
import { READER_FORMATS } from './rerank.ts'

export const READING_SETTINGS = {
  READER_BASE_URL: {
    schema: optional(baseUrl),
    help:
      'base URL of the endpoint of a reader: {base}/chat/completions of an OpenAI-compatible server, or {base}/rerank of ' +
      'a cross-encoder; only profiles with a reader need it',
  },
  READER_API_KEY: { schema: optional(httpKey), help: 'key for the endpoint of readers', secret: true },
  READER_FORMAT: {
    schema: z.enum(READER_FORMATS).default('cohere'),
    help:
      'of {base}/rerank: cohere, the interface of Cohere and Jina; tei, that of Text Embeddings Inference, which serves ' +
      'one model',
  },
  READER_TIMEOUT_MS: {
    schema: wholeNumber(
      READING_BOUNDS.readerTimeoutMinMs,
      READING_BOUNDS.readerTimeoutMaxMs,
      READING_BOUNDS.readerTimeoutDefaultMs,
    ),
    help: 'time for one reading',
  },
} as const satisfies Record<string, Variable<unknown>>

/** Those of the re-ranking endpoint of an earlier release. */
export const MOVED_READER_VARIABLES = {
  RERANK_BASE_URL: 'READER_BASE_URL',
  RERANK_FORMAT: 'READER_FORMAT',
  RERANK_API_KEY: 'READER_API_KEY',
  RERANK_TIMEOUT_MS: 'READER_TIMEOUT_MS',
}
