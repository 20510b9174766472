import { baseUrl, httpKey, optional, type Variable } from '#core/platform/config.ts'

export const REWRITING_SETTINGS = {
  REWRITER_BASE_URL: {
    schema: optional(baseUrl),
    help: 'base URL of an OpenAI-compatible chat server; only profiles with a rewriter need it',
  },
  REWRITER_API_KEY: { schema: optional(httpKey), help: 'key for the endpoint of rewriters', secret: true },
} as const satisfies Record<string, Variable<unknown>>
