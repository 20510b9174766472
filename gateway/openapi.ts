import { z } from 'zod'
import { GATEWAY_BOUNDS } from './bounds.ts'
import { errorResponseSchema, retrievalRequestSchema, retrievalResponseSchema } from './retrieve/schema.ts'

const ERRORS: Readonly<Record<string, readonly [string, ...string[]]>> = {
  400: ['INVALID_REQUEST'],
  401: ['INVALID_API_KEY'],
  403: ['FILTER_FORBIDDEN', 'SCOPE_FORBIDDEN', 'ENTITLEMENT_INACTIVE'],
  404: ['INVALID_REQUEST'],
  409: ['REQUEST_ALREADY_PROCESSED'],
  413: ['INVALID_REQUEST'],
  429: ['RATE_LIMITED', 'QUOTA_EXHAUSTED'],
  503: ['INTERNAL_UNAVAILABLE', 'RETRIEVAL_UNAVAILABLE'],
}

const REASONS: Readonly<Record<string, string>> = {
  400: 'Malformed JSON, a request outside the schema, or a faulty header.',
  401: 'Missing, invalid, revoked, expired or wrong-environment key; all alike.',
  403:
    'A filter or profile outside the entitlement, a key without the scope, or a knowledge base that is ' +
    'not active for this client.',
  404: 'Unknown path or method.',
  409: 'The Idempotency-Key was already received: admitted and not refunded.',
  413: `The body exceeds ${GATEWAY_BOUNDS.bodyBytesMax} bytes.`,
  429: 'Rate, concurrency or extraction throttle (retryable), or an exhausted allowance (not).',
  503: 'A dependency or retrieval is unavailable, or the gateway is overloaded; never an abstention.',
}

const string = { type: 'string' }
const COMMON_HEADERS = {
  'X-Request-Id': { schema: string, description: 'Equals request_id.' },
  'Cache-Control': { schema: { const: 'no-store' } },
}
const WINDOW_HEADERS = {
  'RateLimit-Policy': { schema: string, description: 'Quota q and window w in seconds of minute, day and month.' },
  RateLimit: { schema: string, description: 'Remaining r and seconds to reset t of minute, day and month.' },
}
const RETRY_AFTER = {
  'Retry-After': {
    schema: { type: 'integer', minimum: 1 },
    description: 'Whole seconds; on every retryable error and only there.',
  },
}

function jsonSchema(schema: z.ZodType): unknown {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { target: 'draft-2020-12' })
  return rest
}

function errorReplies(): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(ERRORS).map(([status, codes]) => [
      status,
      {
        description: REASONS[status],
        headers: {
          ...COMMON_HEADERS,
          ...(['409', '429', '503'].includes(status) ? WINDOW_HEADERS : {}),
          ...(['429', '503'].includes(status) ? RETRY_AFTER : {}),
          ...(status === '409' ? { 'x-should-retry': { schema: { const: 'false' } } } : {}),
        },
        content: { 'application/json': { schema: jsonSchema(errorResponseSchema(codes)) } },
      },
    ]),
  )
}

/** The OpenAPI 3.1 document, generated from the schemas that requests are parsed with. */
export function openApiDocument(): unknown {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Evidence Retrieval Service',
      version: '1',
      description:
        'Ranked, source-linked passages from an immutable, reviewed corpus version, with an explicit ' +
        'decision: answer or abstain. It never writes an answer itself.',
    },
    paths: {
      '/v1/retrieve': {
        post: {
          operationId: 'retrieve',
          security: [{ bearer: [] }],
          parameters: [
            {
              name: 'Idempotency-Key',
              in: 'header',
              required: false,
              description: 'Send when a request may be retried; reuse only for the same request.',
              schema: {
                type: 'string',
                minLength: GATEWAY_BOUNDS.idempotencyKeyCharactersMin,
                maxLength: GATEWAY_BOUNDS.idempotencyKeyCharactersMax,
                pattern: '^[\\x21-\\x7e]+$',
              },
            },
          ],
          requestBody: {
            required: true,
            content: { 'application/json': { schema: jsonSchema(retrievalRequestSchema) } },
          },
          responses: {
            200: {
              description:
                'decision = answer with at least one result, or abstain with none. Branch on the ' +
                'status first, then on abstention.decision.',
              headers: { ...COMMON_HEADERS, ...WINDOW_HEADERS },
              content: { 'application/json': { schema: jsonSchema(retrievalResponseSchema) } },
            },
            ...errorReplies(),
          },
        },
      },
    },
    components: {
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: 'A key erk_<test|live>_… with the scope retrieval:read; used only from a server.',
        },
      },
    },
  }
}
