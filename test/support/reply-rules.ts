import { z } from 'zod'
import { retrievalResponseSchema } from '#gateway/retrieve/schema.ts'

/**
 * The rules of every reply of the public port, written from the contract independently of the catalogue that they
 * check.
 */

/** The contract's error table: status, code, whether a caller may retry. */
const CATALOGUE: readonly (readonly [number, string, boolean])[] = [
  [400, 'INVALID_REQUEST', false],
  [401, 'INVALID_API_KEY', false],
  [403, 'FILTER_FORBIDDEN', false],
  [403, 'SCOPE_FORBIDDEN', false],
  [403, 'ENTITLEMENT_INACTIVE', false],
  [404, 'INVALID_REQUEST', false],
  [405, 'INVALID_REQUEST', false],
  [409, 'REQUEST_ALREADY_PROCESSED', false],
  [413, 'INVALID_REQUEST', false],
  [429, 'RATE_LIMITED', true],
  [429, 'QUOTA_EXHAUSTED', false],
  [503, 'INTERNAL_UNAVAILABLE', true],
  [503, 'RETRIEVAL_UNAVAILABLE', true],
]

const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'
const REQUEST_ID = new RegExp(`^req_${UUID}$`)
const TRACE_ID = new RegExp(`^ret_${UUID}$`)
const RATE_LIMIT_POLICY = /^"minute";q=\d+;w=60, "day";q=\d+;w=86400, "month";q=\d+;w=\d+$/
const RATE_LIMIT = /^"minute";r=\d+;t=\d+, "day";r=\d+;t=\d+, "month";r=\d+;t=\d+$/

export const errorBodySchema = z.strictObject({
  error: z.strictObject({
    code: z.string(),
    message: z.string().min(1),
    retryable: z.boolean(),
    details: z
      .array(
        z.strictObject({
          path: z.string(),
          message: z.string(),
          reason: z.string().optional(),
          scope: z.string().optional(),
          access_grows_at: z.string().optional(),
        }),
      )
      .min(1)
      .optional(),
    original_request_id: z.string().regex(REQUEST_ID).optional(),
  }),
  request_id: z.string().regex(REQUEST_ID),
  trace_id: z.string().regex(TRACE_ID),
})

/** The rules that a reply breaks, one sentence each; none for a good one. */
export function replyFaults(status: number, headers: Headers, bytes: Buffer): readonly string[] {
  const faults: string[] = []
  const must = (holds: boolean, rule: string): void => void (holds || faults.push(rule))
  const header = (name: string): string | null => headers.get(name)
  must(header('content-type') === 'application/json; charset=utf-8', 'the body is JSON in UTF-8 and says so')
  must(header('content-length') === String(bytes.length), 'Content-Length is the length of the body')
  must(header('cache-control') === 'no-store', 'Cache-Control is no-store')
  const body = parsed(bytes)
  const ids = z
    .object({ request_id: z.string().regex(REQUEST_ID), trace_id: z.string().regex(TRACE_ID) })
    .safeParse(body)
  must(ids.success && header('x-request-id') === ids.data.request_id, 'X-Request-Id is the request_id of the body')
  must(header('request-id') === header('x-request-id'), 'Request-Id is X-Request-Id')
  must(
    ids.success && header('traceparent')?.split('-')[1] === ids.data.trace_id.slice(4).replaceAll('-', ''),
    'traceparent is of the trace_id of the body',
  )
  must(
    (header('ratelimit') === null) === (header('ratelimit-policy') === null),
    'RateLimit and RateLimit-Policy come together',
  )
  must(
    header('ratelimit') === null ||
      (RATE_LIMIT.test(header('ratelimit') ?? '') && RATE_LIMIT_POLICY.test(header('ratelimit-policy') ?? '')),
    'RateLimit lists minute, day and month',
  )
  must(
    header('ratelimit') === null || [200, 409, 429, 503].includes(status),
    'RateLimit only where admission was evaluated',
  )
  must(header('ratelimit') !== null || ![200, 409, 429].includes(status), 'RateLimit on every 200, 409 and 429')
  must(header('server') === null && header('x-powered-by') === null, 'nothing tells what the server is made of')
  if (status === 200) successFaults(headers, bytes, body, must)
  else errorFaults(status, headers, body, must)
  return faults
}

type Must = (holds: boolean, rule: string) => void

function successFaults(headers: Headers, bytes: Buffer, body: unknown, must: Must): void {
  const response = retrievalResponseSchema.safeParse(body)
  must(response.success, 'a 200 is a retrieval response and nothing else')
  must(
    headers.get('retry-after') === null && headers.get('x-should-retry') === null,
    'a 200 says nothing about retrying',
  )
  if (!response.success) return
  const { results, abstention, usage } = response.data
  const { observed_value: observed, threshold, unsupported_explicit_references: unsupported } = abstention
  // The passages of an abstention are not shown: that none remained is said by a value of 0, which no passage has.
  must(
    (abstention.decision === 'answer') === (observed > 0 && unsupported.length === 0 && observed >= threshold),
    'the decision follows from the reply',
  )
  must(
    /^evidence_probability(?:_with_reader|_with_rewriter)?$/.test(abstention.signal),
    'the signal is the calibrated probability of sufficient evidence',
  )
  must(observed >= 0 && observed <= 1 && threshold >= 0 && threshold <= 1, 'value and threshold are probabilities')
  must(
    unsupported.every(({ text, normalized }) => text.trim() !== '' && normalized.trim() !== '') &&
      new Set(unsupported.map(({ normalized }) => normalized)).size === unsupported.length,
    'each unsupported provision once, as it was written and in its canonical form',
  )
  must(abstention.decision === 'answer' ? results.length > 0 : results.length === 0, 'passages exactly with an answer')
  must(usage.response_bytes === bytes.length, 'response_bytes is the exact length')
  must(usage.result_count === results.length, 'result_count is the number of results')
  must(
    results.every(({ score }, at) => score >= 0 && score <= (results[at - 1]?.score ?? 1)),
    'scores lie in [0, 1] and never rise',
  )
  must(
    results.every(
      ({ chunk_id, score }, at) =>
        at === 0 || score < (results[at - 1]?.score ?? 2) || chunk_id > (results[at - 1]?.chunk_id ?? ''),
    ),
    'ties are broken by chunk_id',
  )
  must(
    results.every(({ text }) => [...text].length <= 4_000),
    'a passage has at most 4,000 characters',
  )
}

function errorFaults(status: number, headers: Headers, body: unknown, must: Must): void {
  const parsedBody = errorBodySchema.safeParse(body)
  must(parsedBody.success, 'an error has the documented body and nothing else')
  if (!parsedBody.success) return
  const { code, retryable, details, original_request_id: original } = parsedBody.data.error
  must(
    CATALOGUE.some((row) => row[0] === status && row[1] === code && row[2] === retryable),
    'status, code and retryable are one row of the table',
  )
  must(
    retryable ? /^[1-9]\d*$/.test(headers.get('retry-after') ?? '') : headers.get('retry-after') === null,
    'Retry-After in whole seconds on retryable errors and only there',
  )
  must((status === 409) === (original !== undefined), 'original_request_id on 409 and only there')
  must(
    headers.get('x-should-retry') === (status === 409 ? 'false' : null),
    'x-should-retry: false on 409 and only there',
  )
  must(
    details === undefined || !['INVALID_API_KEY', 'SCOPE_FORBIDDEN', 'ENTITLEMENT_INACTIVE'].includes(code),
    'details tell nothing of what the caller may not know',
  )
  must(
    !['RATE_LIMITED', 'QUOTA_EXHAUSTED'].includes(code) || (details ?? []).every(({ reason }) => reason !== undefined),
    'a limit says which one it is',
  )
  must((status === 405) === (headers.get('allow') !== null), 'Allow on 405 and only there')
  must(
    headers.get('www-authenticate') === (status === 401 ? 'Bearer' : null),
    'WWW-Authenticate: Bearer on 401 and only there',
  )
}

function parsed(bytes: Buffer): unknown {
  try {
    const value: unknown = JSON.parse(bytes.toString())
    return value
  } catch {
    return undefined
  }
}
