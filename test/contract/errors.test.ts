import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { ERROR_CODES } from '#core/platform/errors.ts'
import type { CallerOptions } from '#test/support/caller.ts'
import type { Answer } from '#test/support/http.ts'
import { asking } from '#test/support/embedding-faults.ts'
import { OF_MIXED } from './mixed-corpus.ts'
import { createCaller, service } from './service.ts'

type Row = readonly [status: number, code: string, condition: string, provoke: () => Promise<Answer>]

const asked =
  (body: object, options: CallerOptions = {}) =>
  async (): Promise<Answer> =>
    (await createCaller(options)).ask(body)

const pastThe = (limits: CallerOptions['limits']) => async (): Promise<Answer> => {
  const caller = await createCaller({ limits })
  expect((await caller.ask()).status).toBe(200)
  return caller.ask()
}

/** One row of the specification's table each. */
const TABLE: readonly Row[] = [
  [400, 'INVALID_REQUEST', 'malformed JSON', async () => (await createCaller()).send('{')],
  [400, 'INVALID_REQUEST', 'a request outside the schema', asked({ top_k: 101 })],
  [400, 'INVALID_REQUEST', 'an unknown field', asked({ answer: true })],
  [401, 'INVALID_API_KEY', 'a missing key', async () => (await createCaller()).ask({}, { key: undefined })],
  [401, 'INVALID_API_KEY', 'a wrong-environment key', asked({}, { environment: 'test' })],
  [403, 'FILTER_FORBIDDEN', 'a filter that would widen the entitlement', asked({ filters: { jurisdiction: ['XX'] } })],
  [403, 'FILTER_FORBIDDEN', 'a profile that would widen the entitlement', asked({ profile: randomUUID() })],
  [403, 'SCOPE_FORBIDDEN', 'a key without the scope', asked({}, { scopes: ['usage:read'] })],
  [403, 'ENTITLEMENT_INACTIVE', 'a knowledge base that is not active for this client', asked({}, { active: false })],
  [
    409,
    'REQUEST_ALREADY_PROCESSED',
    'an idempotency key that already reached the service',
    async () => {
      const caller = await createCaller()
      const options = { headers: { 'idempotency-key': randomUUID() } }
      await caller.ask({}, options)
      return caller.ask({}, options)
    },
  ],
  [413, 'INVALID_REQUEST', 'more than 16,384 bytes', async () => (await createCaller()).send(' '.repeat(16_385))],
  [429, 'RATE_LIMITED', 'a rate throttle', pastThe({ requests_per_minute: 1 })],
  [429, 'QUOTA_EXHAUSTED', 'an exhausted daily allowance', pastThe({ requests_per_day: 1 })],
  [429, 'QUOTA_EXHAUSTED', 'an exhausted monthly allowance', pastThe({ requests_per_month: 1 })],
  [
    503,
    'INTERNAL_UNAVAILABLE',
    'a required part that is missing: here the key under which usage is recorded',
    async () => {
      const caller = await createCaller()
      await service.owner.query(
        'delete from fingerprint_keys where organization_id = (select id from organizations where name = $1)',
        [caller.organization],
      )
      return caller.ask()
    },
  ],
  [
    503,
    'RETRIEVAL_UNAVAILABLE',
    'retrieval that could not complete',
    asked({ query: asking('status-500', 'silt') }, OF_MIXED),
  ],
]
const RETRYABLE = ['RATE_LIMITED', 'INTERNAL_UNAVAILABLE', 'RETRIEVAL_UNAVAILABLE']

describe('Errors: each row of the table', () => {
  test.each(TABLE)('%i %s: %s', async (status, code, _, provoke) => {
    const retryable = RETRYABLE.includes(code)
    const answer = await provoke()
    const { error } = answer.error()
    expect([answer.status, error.code, error.retryable]).toEqual([status, code, retryable])
    expect(answer.headers.get('retry-after') !== null).toBe(retryable)
  })
})

describe('Errors: rules', () => {
  test('the catalogue holds the codes of the table and no other', () => {
    expect(new Set(ERROR_CODES)).toEqual(new Set(TABLE.map(([, code]) => code)))
  })

  test('the message is the same for the same code and says what to do, whatever was sent', async () => {
    const caller = await createCaller()
    const messages = [
      (await caller.ask({ top_k: 0 })).error(),
      (await caller.ask({ query: '' })).error(),
      (await caller.send('{')).error(),
    ].map(({ error }) => error.message)
    expect(new Set(messages).size).toBe(1)
    expect(messages[0]).toMatch(/correct it/)
  })

  test('details list every fault of a request, each with its path', async () => {
    const caller = await createCaller()
    const { error } = (
      await caller.ask({ query: 5, top_k: 0, profile: 'x', filters: { language: [] }, more: 1 })
    ).error()
    expect(new Set(error.details?.map(({ path }) => path))).toEqual(
      new Set(['/query', '/top_k', '/profile', '/filters/language', '/more']),
    )
    expect(error.details).toContainEqual({ path: '/profile', message: 'must be active or a UUID' })
  })

  test('nothing of a cause is shown: no stack, no host, no provider, no SQL', async () => {
    const caller = await createCaller(OF_MIXED)
    for (const behaviour of ['status-401', 'reset', 'echo', 'short-vector'] as const) {
      const body = (await caller.ask({ query: asking(behaviour, 'silt') })).bytes.toString()
      expect(body).not.toMatch(/provider|127\.0\.0\.1|dimension|vector|\.ts|select|openai|status/i)
    }
  })

  test('a failed request costs an id that is kept: the reservation and the log know it', async () => {
    const caller = await createCaller(OF_MIXED)
    const answer = await caller.ask({ query: asking('status-500', 'silt') })
    const { rows } = await service.owner.query<{ trace_id: string; state: string }>(
      'select trace_id, state from reservations where id = $1',
      [answer.error().request_id.slice(4)],
    )
    expect(rows).toEqual([{ trace_id: answer.error().trace_id.slice(4), state: 'refunded' }])
  })
})
