import { describe, expect, test } from 'vitest'
import { replyFaults } from './reply-rules.ts'

const REQUEST_ID = 'req_0b7e9a51-3f5f-4c3e-9c57-6f0c1d6a4c11'
const TRACE_ID = 'ret_7d0e4b9e-31ce-4a8c-8c43-0de1ff1f2f1b'
const RATE_LIMIT = {
  'ratelimit-policy': '"minute";q=10;w=60, "day";q=250;w=86400, "month";q=5000;w=2592000',
  ratelimit: '"minute";r=9;t=60, "day";r=249;t=1, "month";r=4999;t=1',
}

function headersFor(body: string, more: object = {}): Record<string, string | undefined> {
  return {
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
    'cache-control': 'no-store',
    'request-id': REQUEST_ID,
    'x-request-id': REQUEST_ID,
    traceparent: `00-${TRACE_ID.slice(4).replaceAll('-', '')}-00f067aa0ba902b7-00`,
    ...more,
  }
}

function faults(status: number, body: string, headers: Record<string, string | undefined>): readonly string[] {
  const sent = Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return replyFaults(status, new Headers(sent), Buffer.from(body))
}

const USAGE = { query_embedding_tokens: null, top_k: 5, dropped_for_size: 0 }
const PASSAGE = {
  chunk_id: 'chk_00ff',
  text: 'A firm keeps records.',
  score: 0.5,
  document: {
    id: '0b7e9a51-3f5f-4c3e-9c57-6f0c1d6a4c11',
    revision_id: '0b7e9a51-3f5f-4c3e-9c57-6f0c1d6a4c11',
    title: 'T',
    authority: 'A',
    canonical_url: 'https://rules.example/a',
    published_at: '2024-01-01T00:00:00.000Z',
    effective_at: '2024-01-01T00:00:00.000Z',
  },
  citation: {
    label: 'A 1',
    source_anchor: 'https://rules.example/a#1',
    source_snapshot_id: '0b7e9a51-3f5f-4c3e-9c57-6f0c1d6a4c11',
  },
  metadata: { language: 'en', jurisdiction: 'XA', verification_status: 'verified' },
}

function successWith(change: object = {}, results: readonly object[] = [PASSAGE]): string {
  const abstention = {
    decision: results.length > 0 ? 'answer' : 'abstain',
    signal: 'evidence_probability',
    threshold: 0.2,
    observed_value: results.length > 0 ? 0.5 : 0.1,
    unsupported_explicit_references: [],
  }
  const usage = { ...USAGE, result_count: results.length, response_bytes: 1 }
  const id = '0b7e9a51-3f5f-4c3e-9c57-6f0c1d6a4c11'
  const body = {
    request_id: REQUEST_ID,
    knowledge_base: 'kb',
    version: id,
    retrieval_profile: id,
    results,
    trace_id: TRACE_ID,
    abstention,
    usage,
    ...change,
  }
  let text = JSON.stringify(body)
  for (let n = 0; n < 3; n++) text = text.replace(/"response_bytes":\d+/, `"response_bytes":${Buffer.byteLength(text)}`)
  return text
}

const UNSUPPORTED = { text: 'Rule 9.9', normalized: 'rulebook:a#9/9', reason: 'not_in_corpus' }

/** An answer when there are passages, unless it is said to be something else. */
function decided(change: object, results: readonly object[] = [PASSAGE]): string {
  const good = {
    signal: 'evidence_probability',
    threshold: 0.2,
    observed_value: 0.5,
    unsupported_explicit_references: [],
  }
  return successWith(
    { abstention: { decision: results.length > 0 ? 'answer' : 'abstain', ...good, ...change } },
    results,
  )
}

function errorWith(code: string, retryable: boolean, more: object = {}): string {
  return JSON.stringify({
    error: { code, message: 'A sentence.', retryable, ...more },
    request_id: REQUEST_ID,
    trace_id: TRACE_ID,
  })
}

describe('the rules that every reply is held against', () => {
  test('find no fault with good replies', () => {
    for (const body of [
      successWith(),
      successWith({}, []),
      decided({ unsupported_explicit_references: [UNSUPPORTED] }, []),
    ])
      expect(faults(200, body, headersFor(body, RATE_LIMIT))).toEqual([])
    const refused = errorWith('INVALID_REQUEST', false, { details: [{ path: 'query', message: 'must not be blank' }] })
    expect(faults(400, refused, headersFor(refused))).toEqual([])
    const limited = errorWith('RATE_LIMITED', true)
    expect(faults(429, limited, headersFor(limited, { ...RATE_LIMIT, 'retry-after': '3' }))).toEqual([])
    const repeated = errorWith('REQUEST_ALREADY_PROCESSED', false, { original_request_id: REQUEST_ID })
    expect(faults(409, repeated, headersFor(repeated, { ...RATE_LIMIT, 'x-should-retry': 'false' }))).toEqual([])
  })

  test.each([
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
  ])('notice %s', (_, change) => {
    const body = successWith()
    expect(faults(200, body, headersFor(body, { ...RATE_LIMIT, ...change }))).not.toEqual([])
  })

  test.each([
    ['a field too many', successWith({ extra: 1 })],
    ['passages with an abstention', decided({ decision: 'abstain' })],
    ['an abstention although the value reaches the threshold', decided({}, [])],
    ['an answer below its threshold', decided({ threshold: 0.6 })],
    ['an answer although a provision is unsupported', decided({ unsupported_explicit_references: [UNSUPPORTED] })],
    ['an answer from nothing', decided({ threshold: 0, observed_value: 0 })],
    ['another signal', decided({ signal: 'top_score' })],
    ['a value that is no probability', decided({ observed_value: 1.5 })],
    ['an unsupported provision twice', decided({ unsupported_explicit_references: [UNSUPPORTED, UNSUPPORTED] }, [])],
    [
      'an unsupported provision without its words',
      decided({ unsupported_explicit_references: [{ ...UNSUPPORTED, text: '' }] }, []),
    ],
    [
      'an unsupported provision for another reason',
      decided({ unsupported_explicit_references: [{ ...UNSUPPORTED, reason: 'unknown' }] }, []),
    ],
    ['a wrong count', successWith({ usage: { ...USAGE, result_count: 2, response_bytes: 1 } })],
    ['scores that rise', successWith({}, [PASSAGE, { ...PASSAGE, chunk_id: 'chk_01', score: 0.6 }])],
    ['a tie in another order', successWith({}, [PASSAGE, { ...PASSAGE, chunk_id: 'chk_0000' }])],
    ['a passage that is too long', successWith({}, [{ ...PASSAGE, text: 'x'.repeat(4_001) }])],
    [
      'a timestamp without milliseconds',
      successWith({}, [{ ...PASSAGE, document: { ...PASSAGE.document, published_at: '2024-01-01T00:00:00Z' } }]),
    ],
    ['a wrong response_bytes', successWith().replace(/"response_bytes":(\d)/, '"response_bytes":9$1')],
  ])('notice in a 200 %s', (_, body) => {
    expect(faults(200, body, headersFor(body, RATE_LIMIT))).not.toEqual([])
  })

  test.each([
    ['a status that is not of the table', 500, errorWith('INTERNAL_UNAVAILABLE', true), { 'retry-after': '1' }],
    ['a code under another status', 403, errorWith('INVALID_REQUEST', false), {}],
    ['retryable the other way', 503, errorWith('INTERNAL_UNAVAILABLE', false), {}],
    ['a retryable error without Retry-After', 503, errorWith('INTERNAL_UNAVAILABLE', true), {}],
    [
      'Retry-After that is a date',
      503,
      errorWith('INTERNAL_UNAVAILABLE', true),
      { 'retry-after': 'Sat, 21 Nov 2026 00:00:00 GMT' },
    ],
    ['Retry-After on an error that is final', 400, errorWith('INVALID_REQUEST', false), { 'retry-after': '1' }],
    [
      'a 409 without the original id',
      409,
      errorWith('REQUEST_ALREADY_PROCESSED', false),
      { ...RATE_LIMIT, 'x-should-retry': 'false' },
    ],
    [
      'a 409 that SDKs would retry',
      409,
      errorWith('REQUEST_ALREADY_PROCESSED', false, { original_request_id: REQUEST_ID }),
      RATE_LIMIT,
    ],
    ['RateLimit before admission', 400, errorWith('INVALID_REQUEST', false), RATE_LIMIT],
    [
      'details of a refusal that tells nothing',
      403,
      errorWith('ENTITLEMENT_INACTIVE', false, { details: [{ path: '/knowledge_base', message: 'no' }] }),
      {},
    ],
    ['a 401 without its scheme', 401, errorWith('INVALID_API_KEY', false), {}],
    ['a 405 without the methods', 405, errorWith('INVALID_REQUEST', false), {}],
    [
      'a limit without its name',
      429,
      errorWith('RATE_LIMITED', true, { details: [{ path: '(plan)', message: 'no' }] }),
      { ...RATE_LIMIT, 'retry-after': '1' },
    ],
    ['another shape', 400, JSON.stringify({ message: 'no', request_id: REQUEST_ID, trace_id: TRACE_ID }), {}],
    ['no JSON', 400, 'no', {}],
  ])('notice in an error %s', (_, status, body, headers) => {
    expect(faults(status, body, headersFor(body, headers))).not.toEqual([])
  })
})
