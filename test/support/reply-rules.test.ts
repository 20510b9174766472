import { expect, test } from 'vitest'
import { replyFaults } from './reply-rules.ts'

const UUID = '0b7e9a51-3f5f-4c3e-9c57-6f0c1d6a4c11'
const [REQUEST_ID, TRACE_ID] = [`req_${UUID}`, `ret_${UUID}`]
const RATE_LIMIT = {
  'ratelimit-policy': '"minute";q=10;w=60, "day";q=250;w=86400, "month";q=5000;w=2592000',
  ratelimit: '"minute";r=9;t=60, "day";r=249;t=1, "month";r=4999;t=1',
}

function faults(status: number, body: string, more: Readonly<Record<string, string | undefined>>): readonly string[] {
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
    'cache-control': 'no-store',
    'request-id': REQUEST_ID,
    'x-request-id': REQUEST_ID,
    traceparent: `00-${UUID.replaceAll('-', '')}-00f067aa0ba902b7-00`,
    ...more,
  }
  const sent = Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return replyFaults(status, new Headers(sent), Buffer.from(body))
}

const DOCUMENT = {
  id: UUID,
  revision_id: UUID,
  title: 'T',
  authority: 'A',
  canonical_url: 'https://rules.example/a',
  published_at: '2024-01-01T00:00:00.000Z',
  effective_at: '2024-01-01T00:00:00.000Z',
}
const PASSAGE = {
  chunk_id: 'chk_00ff',
  text: 'A firm keeps records.',
  score: 0.5,
  document: DOCUMENT,
  citation: { label: 'A 1', source_anchor: 'https://rules.example/a#1', source_snapshot_id: UUID },
  metadata: { language: 'en', jurisdiction: 'XA', verification_status: 'verified' },
}
const SHORT_DATE = { ...DOCUMENT, published_at: '2024-01-01T00:00:00Z' }
const UNSUPPORTED = { text: 'Rule 9.9', normalized: 'rulebook:a#9/9', reason: 'not_in_corpus' }

/** A 200: an answer when there are passages, unless it is said to be something else. */
function success(results: readonly object[], decided: object = {}, change: object = {}): string {
  const body = {
    request_id: REQUEST_ID,
    knowledge_base: 'kb',
    version: UUID,
    retrieval_profile: UUID,
    results,
    trace_id: TRACE_ID,
    abstention: {
      decision: results.length > 0 ? 'answer' : 'abstain',
      signal: 'evidence_probability',
      threshold: 0.2,
      observed_value: 0.5,
      unsupported_explicit_references: [],
      ...decided,
    },
    usage: {
      query_embedding_tokens: null,
      top_k: 5,
      dropped_for_size: 0,
      result_count: results.length,
      response_bytes: 1,
    },
    ...change,
  }
  let text = JSON.stringify(body)
  for (let n = 0; n < 3; n++) text = text.replace(/"response_bytes":\d+/, `"response_bytes":${Buffer.byteLength(text)}`)
  return text
}

function failure(code: string, retryable: boolean, more: object = {}): string {
  const error = { code, message: 'A sentence.', retryable, ...more }
  return JSON.stringify({ error, request_id: REQUEST_ID, trace_id: TRACE_ID })
}

const unsupported = (...references: readonly object[]): object => ({ unsupported_explicit_references: references })
const GOOD = success([PASSAGE])
const CONFLICT = failure('REQUEST_ALREADY_PROCESSED', false, { original_request_id: REQUEST_ID })
const FINAL = { ...RATE_LIMIT, 'x-should-retry': 'false' }
const DETAILS = { details: [{ path: 'query', message: 'must not be blank' }] }

test.each<[what: string, status: number, body: string, headers: Readonly<Record<string, string>>]>([
  ['an answer', 200, GOOD, RATE_LIMIT],
  ['an abstention', 200, success([], { observed_value: 0.1 }), RATE_LIMIT],
  ['an unsupported provision', 200, success([], unsupported(UNSUPPORTED)), RATE_LIMIT],
  ['a refusal', 400, failure('INVALID_REQUEST', false, DETAILS), {}],
  ['a limit', 429, failure('RATE_LIMITED', true), { ...RATE_LIMIT, 'retry-after': '3' }],
  ['a conflict', 409, CONFLICT, FINAL],
])('no rule finds a fault with %s', (_, status, body, headers) => {
  expect(faults(status, body, headers)).toEqual([])
})

test.each<[what: string, headers: Readonly<Record<string, string | undefined>>]>([
  ['another media type', { 'content-type': 'text/plain' }],
  ['a wrong length', { 'content-length': '1' }],
  ['a reply that may be stored', { 'cache-control': undefined }],
  ['another X-Request-Id', { 'x-request-id': TRACE_ID }],
  ['another Request-Id', { 'request-id': TRACE_ID }],
  ['a traceparent of another trace', { traceparent: `00-${'a'.repeat(32)}-00f067aa0ba902b7-00` }],
  ['no RateLimit', { ratelimit: undefined, 'ratelimit-policy': undefined }],
  ['half of RateLimit', { 'ratelimit-policy': undefined }],
  ['a RateLimit of another form', { ratelimit: '10' }],
  ['Retry-After on a 200', { 'retry-after': '1' }],
  ['the name of the server', { server: 'x' }],
])('a rule finds %s', (_, headers) => {
  expect(faults(200, GOOD, { ...RATE_LIMIT, ...headers })).not.toEqual([])
})

test.each<[what: string, body: string]>([
  ['a field too many', success([PASSAGE], {}, { extra: 1 })],
  ['passages with an abstention', success([PASSAGE], { decision: 'abstain' })],
  ['an abstention although the value reaches the threshold', success([])],
  ['an answer below its threshold', success([PASSAGE], { threshold: 0.6 })],
  ['an answer although a provision is unsupported', success([PASSAGE], unsupported(UNSUPPORTED))],
  ['an answer from nothing', success([PASSAGE], { threshold: 0, observed_value: 0 })],
  ['another signal', success([PASSAGE], { signal: 'top_score' })],
  ['a value that is no probability', success([PASSAGE], { observed_value: 1.5 })],
  ['an unsupported provision twice', success([], unsupported(UNSUPPORTED, UNSUPPORTED))],
  ['an unsupported provision without its words', success([], unsupported({ ...UNSUPPORTED, text: '' }))],
  ['an unsupported provision for another reason', success([], unsupported({ ...UNSUPPORTED, reason: 'unknown' }))],
  ['a wrong count', GOOD.replace('"result_count":1', '"result_count":2')],
  ['scores that rise', success([PASSAGE, { ...PASSAGE, chunk_id: 'chk_01', score: 0.6 }])],
  ['a tie in another order', success([PASSAGE, { ...PASSAGE, chunk_id: 'chk_0000' }])],
  ['a passage that is too long', success([{ ...PASSAGE, text: 'x'.repeat(4_001) }])],
  ['a timestamp without milliseconds', success([{ ...PASSAGE, document: SHORT_DATE }])],
  ['a wrong response_bytes', GOOD.replace(/"response_bytes":(\d)/, '"response_bytes":9$1')],
])('a rule finds in a 200 %s', (_, body) => {
  expect(faults(200, body, RATE_LIMIT)).not.toEqual([])
})

const UNAVAILABLE = failure('INTERNAL_UNAVAILABLE', true)
const INVALID = failure('INVALID_REQUEST', false)
const INACTIVE = failure('ENTITLEMENT_INACTIVE', false, DETAILS)
const NAMELESS = failure('RATE_LIMITED', true, DETAILS)
const OTHER_SHAPE = JSON.stringify({ message: 'no', request_id: REQUEST_ID, trace_id: TRACE_ID })

test.each<[what: string, status: number, body: string, headers: Readonly<Record<string, string>>]>([
  ['a status that is not of the table', 500, UNAVAILABLE, { 'retry-after': '1' }],
  ['a code under another status', 403, INVALID, {}],
  ['retryable the other way', 503, failure('INTERNAL_UNAVAILABLE', false), {}],
  ['a retryable error without Retry-After', 503, UNAVAILABLE, {}],
  ['Retry-After that is a date', 503, UNAVAILABLE, { 'retry-after': 'Sat, 21 Nov 2026 00:00:00 GMT' }],
  ['Retry-After on an error that is final', 400, INVALID, { 'retry-after': '1' }],
  ['a 409 without the original id', 409, failure('REQUEST_ALREADY_PROCESSED', false), FINAL],
  ['a 409 that SDKs would retry', 409, CONFLICT, RATE_LIMIT],
  ['RateLimit before admission', 400, INVALID, RATE_LIMIT],
  ['details of a refusal that tells nothing', 403, INACTIVE, {}],
  ['a 401 without its scheme', 401, failure('INVALID_API_KEY', false), {}],
  ['a 405 without the methods', 405, INVALID, {}],
  ['a limit without its name', 429, NAMELESS, { ...RATE_LIMIT, 'retry-after': '1' }],
  ['another shape', 400, OTHER_SHAPE, {}],
  ['no JSON', 400, 'no', {}],
])('a rule finds in an error %s', (_, status, body, headers) => {
  expect(faults(status, body, headers)).not.toEqual([])
})
