import { z } from 'zod'
import { baseUrl, httpKey, optional, wholeNumber } from '#core/platform/config.ts'
import type { Variable } from '#core/platform/config.ts'
import { RERANKING_BOUNDS } from './bounds.ts'
import { RERANK_FORMATS } from './reranker.ts'

/** Variables of the re-ranking endpoint. */
export const RERANKING_SETTINGS = {
  RERANK_BASE_URL: {
    schema: optional(baseUrl),
    help: 'base URL of a re-ranking endpoint, asked at {base}/rerank; only profiles with a re-ranker need it',
  },
  RERANK_FORMAT: {
    schema: z.enum(RERANK_FORMATS).default('cohere'),
    help: 'cohere: the interface of Cohere and Jina; tei: that of Text Embeddings Inference, which serves one model',
    fallback: 'cohere',
  },
  RERANK_API_KEY: { schema: optional(httpKey), help: 'key for the re-ranking endpoint', secret: true },
  RERANK_TIMEOUT_MS: {
    schema: wholeNumber(100, RERANKING_BOUNDS.rerankTimeoutMaxMs, 2_000),
    help: 'time for one re-ranking',
    fallback: '2000',
  },
} as const satisfies Record<string, Variable<unknown>>
