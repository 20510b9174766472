import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Caller } from '#test/support/caller.ts'
import type { Answer } from '#test/support/http.ts'
import { asking } from '#test/support/embedding-faults.ts'
import { OF_MIXED } from './mixed-corpus.ts'
import { createCaller, service } from './service.ts'
import { until } from '#test/support/until.ts'

const replies = new Map<number | string, Answer>()
let caller: Caller
beforeAll(async () => {
  caller = await createCaller(OF_MIXED)
  const limited = await createCaller({ ...OF_MIXED, limits: { requests_per_minute: 1 } })
  const once = { headers: { 'idempotency-key': 'a-key-of-sixteen-characters-or-more' } }
  replies.set(200, await limited.ask({}, once))
  replies.set(409, await limited.ask({}, once))
  replies.set('429 RATE_LIMITED', await limited.ask())
  const spent = await createCaller({ ...OF_MIXED, limits: { requests_per_day: 1 } })
  await spent.ask()
  replies.set('429 QUOTA_EXHAUSTED', await spent.ask())
  replies.set(503, await caller.ask({ query: asking('status-400', 'silt') }))
  replies.set(400, await caller.ask({ top_k: 0 }))
  replies.set(401, await caller.ask({}, { key: undefined }))
  replies.set(403, await caller.ask({ filters: { language: ['de'] } }))
  replies.set(404, await caller.ask({}, { path: '/' }))
  replies.set(413, await caller.send(' '.repeat(16_385)))
})

const EVERY = [200, 400, 401, 403, 404, 409, 413, '429 RATE_LIMITED', '429 QUOTA_EXHAUSTED', 503] as const
const header = (of: number | string, name: string): string | null | undefined => replies.get(of)?.headers.get(name)

// Every reply of every contract test is checked against the same rules (test/support/reply-rules.ts); these tests name
// the rules.
describe('Bodies and headers', () => {
  test.each(EVERY)('X-Request-Id equals request_id: %s', (of) => {
    const { request_id: id } = JSON.parse(replies.get(of)?.bytes.toString() ?? '') as { request_id: string }
    expect(header(of, 'x-request-id')).toBe(id)
    expect(id).toMatch(/^req_[0-9a-f-]{36}$/)
  })

  test.each(EVERY)('Cache-Control is no-store: %s', (of) => {
    expect(header(of, 'cache-control')).toBe('no-store')
  })

  test.each(['429 RATE_LIMITED', 503])('Retry-After, in whole seconds, on a retryable error: %s', (of) => {
    expect(header(of, 'retry-after')).toMatch(/^[1-9]\d*$/)
  })

  test.each([200, 400, 401, 403, 404, 409, 413, '429 QUOTA_EXHAUSTED'])('no Retry-After anywhere else: %s', (of) => {
    expect(header(of, 'retry-after')).toBeNull()
  })

  test.each([200, 409, '429 RATE_LIMITED', '429 QUOTA_EXHAUSTED', 503])(
    'RateLimit-Policy and RateLimit where admission was evaluated: %s',
    (of) => {
      expect(header(of, 'ratelimit-policy')).toMatch(
        /^"minute";q=\d+;w=60, "day";q=\d+;w=86400, "month";q=\d+;w=(2419200|2505600|2592000|2678400)$/,
      )
      expect(header(of, 'ratelimit')).toMatch(/^"minute";r=\d+;t=\d+, "day";r=\d+;t=\d+, "month";r=\d+;t=\d+$/)
    },
  )

  test.each([400, 401, 403, 404, 413])('and nowhere before it: %s', (of) => {
    expect([header(of, 'ratelimit-policy'), header(of, 'ratelimit')]).toEqual([null, null])
  })

  test('409 carries x-should-retry: false and original_request_id, the request_id of the first', () => {
    expect(header(409, 'x-should-retry')).toBe('false')
    expect(replies.get(409)?.error().error.original_request_id).toBe(header(200, 'x-request-id'))
  })

  test('an error body has error, request_id and trace_id, and nothing else', () => {
    for (const of of EVERY.slice(1))
      expect(Object.keys(JSON.parse(replies.get(of)?.bytes.toString() ?? '') as object)).toEqual([
        'error',
        'request_id',
        'trace_id',
      ])
  })
})

describe('request_id and trace_id are made by the service', () => {
  const TRACE = '0af7651916cd43dd8448eb211c80319c'
  const TRACEPARENT = `00-${TRACE}-b7ad6b7169203331-01`

  test('whatever ids the caller sends', async () => {
    const sent = 'req_00000000-0000-4000-8000-000000000000'
    const reply = await caller.ask(
      {},
      { headers: { 'x-request-id': sent, 'request-id': sent, traceparent: TRACEPARENT, 'x-trace-id': TRACE } },
    )
    expect(reply.bytes.toString()).not.toContain(sent.slice(4))
    expect(reply.bytes.toString().replaceAll('-', '')).not.toContain(TRACE)
    expect(reply.headers.get('x-request-id')).not.toBe(sent)
  })

  test('and unique', async () => {
    const sent = await Promise.all(
      Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? caller.ask() : caller.ask({ top_k: 0 }))),
    )
    const ids = sent.flatMap(({ bytes }) =>
      Object.values(JSON.parse(bytes.toString()) as Record<string, unknown>).filter(
        (value) => typeof value === 'string' && /^(req|ret)_/.test(value),
      ),
    )
    expect(ids).toHaveLength(40)
    expect(new Set(ids).size).toBe(40)
  })

  test('a valid W3C traceparent becomes a link in the log; an invalid one does not', async () => {
    expect(await logLineOf(await caller.ask({}, { headers: { traceparent: TRACEPARENT } }))).toContain(
      `"parent":"${TRACEPARENT}"`,
    )
    for (const invalid of [
      `00-${'0'.repeat(32)}-b7ad6b7169203331-01`,
      `00-${TRACE}-${'0'.repeat(16)}-01`,
      'marker-of-an-invalid-parent',
      `${TRACEPARENT}-more`,
    ])
      expect(await logLineOf(await caller.ask({}, { headers: { traceparent: invalid } }))).not.toContain(invalid)
  })
})

/** The line that a gateway writes when a request is finished; it may come a moment after the reply. */
async function logLineOf(reply: Answer): Promise<string> {
  const id = reply.headers.get('x-request-id') ?? ''
  return until(`request ${id} is in the log`, () =>
    service.gateways
      .flatMap(({ logFile }) => readFileSync(logFile, 'utf8').split('\n'))
      .find((one) => one.includes(`"request_id":"${id}"`) && one.includes('"event":"request"')),
  )
}

const stagedSchema = z.object({ stages: z.string() })
const stagesOf = async (reply: Answer): Promise<string> => stagedSchema.parse(JSON.parse(await logLineOf(reply))).stages

describe('Stages', () => {
  test('the log of a request lists every stage, in the order of the pipeline', async () => {
    expect(await stagesOf(await caller.ask())).toBe(
      'authenticate parse entitle narrow pin enter admit rewrite embed search read decide bound record reply',
    )
  })

  test('the log names the request as its caller sees it, with client, knowledge base, version and node', async () => {
    const reply = await caller.ask()
    const { request_id, trace_id, version, knowledge_base } = reply.retrieved()
    const { rows } = await service.owner.query<{ id: string }>(
      'select client_id as id from entitlements where id = $1',
      [caller.entitlementId],
    )
    const of = { request_id, knowledge_base, client_id: rows[0]?.id, version_id: version }
    const line: unknown = JSON.parse(await logLineOf(reply))
    const node = service.searchNodes.map(({ address }) => address)
    expect(line).toMatchObject({ ...of, trace_id, node: expect.stringMatching(new RegExp(node.join('|'))) })
    const ofNode = await until('the search is in the log of a node', () =>
      service.searchNodes
        .flatMap(({ logFile }) => readFileSync(logFile, 'utf8').split('\n'))
        .find((one) => one.includes(request_id)),
    )
    expect(JSON.parse(ofNode)).toMatchObject({ event: 'search', ...of })
  })

  test('a refused request went no further than the stage that refused it', async () => {
    expect(await stagesOf(await caller.ask({}, { key: undefined }))).toBe('authenticate')
    expect(await stagesOf(await caller.ask({ top_k: 0 }))).toBe('authenticate parse')
    expect(await stagesOf(await caller.ask({ knowledge_base: 'unknown' }))).toBe('authenticate parse entitle')
    expect(await stagesOf(await caller.ask({ filters: { language: ['de'] } }))).toBe(
      'authenticate parse entitle narrow',
    )
  })
})
