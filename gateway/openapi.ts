import { z } from 'zod'
import { INDEX_BOUNDS } from '#core/index/bounds.ts'
import { ServiceError, type ErrorCode } from '#core/platform/errors.ts'
import { GATEWAY_BOUNDS } from './bounds.ts'
import EXAMPLES from './openapi-examples.json' with { type: 'json' }
import TEXTS from './openapi-texts.json' with { type: 'json' }
import { errorBody } from './retrieve/reply.ts'
import {
  abstainSchema,
  answerSchema,
  errorDetailSchema,
  errorReasonSchema,
  errorResponseSchema,
  replySchema,
  resultSchema,
  retrievalRequestSchema,
  retrievalResponseSchema,
  signalSchema,
  unsupportedReasonSchema,
} from './retrieve/schema.ts'

/** Bodies of errors by the codes that a status has. */
const ERROR_SCHEMAS = {
  InvalidRequest: ['INVALID_REQUEST'],
  InvalidApiKey: ['INVALID_API_KEY'],
  Forbidden: ['FILTER_FORBIDDEN', 'SCOPE_FORBIDDEN', 'ENTITLEMENT_INACTIVE'],
  AlreadyProcessed: ['REQUEST_ALREADY_PROCESSED'],
  Limited: ['RATE_LIMITED', 'QUOTA_EXHAUSTED'],
  Unavailable: ['INTERNAL_UNAVAILABLE', 'RETRIEVAL_UNAVAILABLE'],
} as const satisfies Record<string, readonly ErrorCode[]>

const ERRORS: Readonly<Record<string, keyof typeof ERROR_SCHEMAS>> = {
  400: 'InvalidRequest',
  401: 'InvalidApiKey',
  403: 'Forbidden',
  404: 'InvalidRequest',
  405: 'InvalidRequest',
  409: 'AlreadyProcessed',
  413: 'InvalidRequest',
  429: 'Limited',
  503: 'Unavailable',
}

const HEADERS = TEXTS.headers
const REASONS: Readonly<Record<string, string>> = TEXTS.reasons

const header = (name: keyof typeof HEADERS): object => ({ $ref: `#/components/headers/${name}` })
const schemaOf = (name: string): object => ({ $ref: `#/components/schemas/${name}` })
const COMMON_HEADERS = {
  'Request-Id': header('RequestId'),
  'X-Request-Id': header('RequestId'),
  traceparent: header('Traceparent'),
  'Cache-Control': header('CacheControl'),
}
const WINDOW_HEADERS = { 'RateLimit-Policy': header('RateLimitPolicy'), RateLimit: header('RateLimit') }

/** Readers take replies with further fields: an addition is no breaking change. Requests have no others. */
function componentSchemas(): Record<string, unknown> {
  const requests = z.registry<{ id: string }>()
  requests.add(retrievalRequestSchema, { id: 'RetrievalRequest' })
  const replies = z.registry<{ id: string }>()
  replies.add(resultSchema, { id: 'Result' })
  replies.add(resultSchema.shape.document, { id: 'Document' })
  replies.add(resultSchema.shape.citation, { id: 'Citation' })
  replies.add(resultSchema.shape.metadata, { id: 'PassageMetadata' })
  const { abstention, usage } = retrievalResponseSchema.shape
  replies.add(signalSchema, { id: 'Signal' })
  replies.add(unsupportedReasonSchema, { id: 'UnsupportedReason' })
  replies.add(abstention.shape.unsupported_explicit_references.element, { id: 'UnsupportedReference' })
  replies.add(usage, { id: 'Usage' })
  replies.add(answerSchema, { id: 'Answer' })
  replies.add(abstainSchema, { id: 'Abstention' })
  replies.add(replySchema, { id: 'RetrievalResponse' })
  replies.add(errorReasonSchema, { id: 'ErrorReason' })
  replies.add(errorDetailSchema, { id: 'ErrorDetail' })
  for (const [id, codes] of Object.entries(ERROR_SCHEMAS)) replies.add(errorResponseSchema(codes), { id })
  const schemas = [requests, replies].flatMap((registry) =>
    Object.entries(
      z.toJSONSchema(registry, {
        target: 'draft-2020-12',
        uri: (id) => `#/components/schemas/${id}`,
        override: ({ jsonSchema }) => {
          if (registry === replies) delete jsonSchema.additionalProperties
        },
      }).schemas,
    ),
  )
  return Object.fromEntries(schemas.map(([name, { $schema: _dialect, $id: _id, ...schema }]) => [name, schema]))
}

const IDS = { requestId: EXAMPLES.answer.request_id, traceId: EXAMPLES.answer.trace_id }

/** A reply of each status. A test parses the examples with the schemas of the document. */
const ERROR_EXAMPLES: Readonly<Record<string, object>> = Object.fromEntries(
  Object.entries(EXAMPLES.errors).map(([status, { code, about }]) => [
    status,
    errorBody(IDS, new ServiceError(code as ErrorCode, about as ConstructorParameters<typeof ServiceError>[1])),
  ]),
)

function withBounds(text: string): string {
  return text
    .replace('{bodyBytesMax}', String(GATEWAY_BOUNDS.bodyBytesMax))
    .replace('{passageCharactersMax}', String(INDEX_BOUNDS.passageCharactersMax))
}

function errorReplies(): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(ERRORS).map(([status, schema]) => [
      status,
      {
        description: withBounds(REASONS[status] ?? ''),
        headers: {
          ...COMMON_HEADERS,
          ...(['409', '429', '503'].includes(status) ? WINDOW_HEADERS : {}),
          ...(['429', '503'].includes(status) ? { 'Retry-After': header('RetryAfter') } : {}),
          ...(status === '409' ? { 'x-should-retry': header('ShouldRetry') } : {}),
          ...(status === '405' ? { Allow: header('Allow') } : {}),
          ...(status === '401' ? { 'WWW-Authenticate': header('Authenticate') } : {}),
        },
        content: { 'application/json': { schema: schemaOf(schema), example: ERROR_EXAMPLES[status] } },
      },
    ]),
  )
}

const IDEMPOTENCY_KEY = {
  ...TEXTS.idempotencyKey,
  schema: {
    type: 'string',
    minLength: GATEWAY_BOUNDS.idempotencyKeyCharactersMin,
    maxLength: GATEWAY_BOUNDS.idempotencyKeyCharactersMax,
    pattern: '^[\\x21-\\x7e]+$',
  },
}

const RETRIEVE = {
  ...TEXTS.operation,
  description: withBounds(TEXTS.operation.description),
  parameters: [IDEMPOTENCY_KEY],
  requestBody: {
    required: true,
    content: { 'application/json': { schema: schemaOf('RetrievalRequest'), example: EXAMPLES.request } },
  },
  responses: {
    200: {
      description: TEXTS.reasons[200],
      headers: { ...COMMON_HEADERS, ...WINDOW_HEADERS },
      content: {
        'application/json': {
          schema: schemaOf('RetrievalResponse'),
          examples: {
            answer: { summary: 'Evidence', value: EXAMPLES.answer },
            abstain: { summary: 'No sufficient evidence', value: EXAMPLES.abstention },
          },
        },
      },
    },
    ...errorReplies(),
  },
}

/** The OpenAPI 3.1 document, generated from the schemas that requests are parsed with. */
export function openApiDocument(): unknown {
  return {
    ...TEXTS.document,
    paths: { '/v1/retrieve': { post: RETRIEVE } },
    components: { schemas: componentSchemas(), headers: HEADERS, securitySchemes: TEXTS.securitySchemes },
  }
}
