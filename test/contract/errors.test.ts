import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { ERROR_CODES } from '#core/platform/errors.ts'
import type { Caller } from '#test/support/caller.ts'
import type { Answer } from '#test/support/http.ts'
import { asking } from '#test/support/embedding-faults.ts'
import { MIXED_KNOWLEDGE_BASE } from './mixed-corpus.ts'
import { createCaller, service } from './service.ts'

const ofMixed = { knowledgeBase: MIXED_KNOWLEDGE_BASE, jurisdictions: ['XA'] }

interface Row {
  readonly status: number
  readonly code: string
  readonly condition: string
  readonly retryable: boolean
  readonly provoke: () => Promise<Answer>
}

async function second(caller: Caller): Promise<Answer> {
  expect((await caller.ask()).status).toBe(200)
  return caller.ask()
}

/** One row of the specification's table each. */
const TABLE: readonly Row[] = [
  {
    status: 400,
    code: 'INVALID_REQUEST',
    condition: 'malformed JSON',
    retryable: false,
    provoke: async () => (await createCaller()).send('{'),
  },
  {
    status: 400,
    code: 'INVALID_REQUEST',
    condition: 'a request outside the schema',
    retryable: false,
    provoke: async () => (await createCaller()).ask({ top_k: 101 }),
  },
  {
    status: 400,
    code: 'INVALID_REQUEST',
    condition: 'an unknown field',
    retryable: false,
    provoke: async () => (await createCaller()).ask({ answer: true }),
  },
  {
    status: 401,
    code: 'INVALID_API_KEY',
    condition: 'a missing key',
    retryable: false,
    provoke: async () => (await createCaller()).ask({}, { key: undefined }),
  },
  {
    status: 401,
    code: 'INVALID_API_KEY',
    condition: 'a wrong-environment key',
    retryable: false,
    provoke: async () => (await createCaller({ environment: 'test' })).ask(),
  },
  {
    status: 403,
    code: 'FILTER_FORBIDDEN',
    condition: 'a filter that would widen the entitlement',
    retryable: false,
    provoke: async () => (await createCaller()).ask({ filters: { jurisdiction: ['XX'] } }),
  },
  {
    status: 403,
    code: 'FILTER_FORBIDDEN',
    condition: 'a profile that would widen the entitlement',
    retryable: false,
    provoke: async () => (await createCaller()).ask({ profile: randomUUID() }),
  },
  {
    status: 403,
    code: 'SCOPE_FORBIDDEN',
    condition: 'a key without the scope',
    retryable: false,
    provoke: async () => (await createCaller({ scopes: ['usage:read'] })).ask(),
  },
  {
    status: 403,
    code: 'ENTITLEMENT_INACTIVE',
    condition: 'a knowledge base that is not active for this client',
    retryable: false,
    provoke: async () => (await createCaller({ active: false })).ask(),
  },
  {
    status: 409,
    code: 'REQUEST_ALREADY_PROCESSED',
    condition: 'an idempotency key that already reached the service',
    retryable: false,
    provoke: async () => {
      const caller = await createCaller()
      const options = { headers: { 'idempotency-key': randomUUID() } }
      await caller.ask({}, options)
      return caller.ask({}, options)
    },
  },
  {
    status: 413,
    code: 'INVALID_REQUEST',
    condition: 'a body of more than 16,384 bytes',
    retryable: false,
    provoke: async () => (await createCaller()).send(' '.repeat(16_385)),
  },
  {
    status: 429,
    code: 'RATE_LIMITED',
    condition: 'a rate throttle',
    retryable: true,
    provoke: async () => second(await createCaller({ limits: { requests_per_minute: 1 } })),
  },
  {
    status: 429,
    code: 'QUOTA_EXHAUSTED',
    condition: 'an exhausted daily allowance',
    retryable: false,
    provoke: async () => second(await createCaller({ limits: { requests_per_day: 1 } })),
  },
  {
    status: 429,
    code: 'QUOTA_EXHAUSTED',
    condition: 'an exhausted monthly allowance',
    retryable: false,
    provoke: async () => second(await createCaller({ limits: { requests_per_month: 1 } })),
  },
  {
    status: 503,
    code: 'INTERNAL_UNAVAILABLE',
    condition: 'a required part that is missing: here the key under which usage is recorded',
    retryable: true,
    provoke: async () => {
      const caller = await createCaller()
      await service.owner.query(
        'delete from fingerprint_keys where organization_id = (select id from organizations where name = $1)',
        [caller.organization],
      )
      return caller.ask()
    },
  },
  {
    status: 503,
    code: 'RETRIEVAL_UNAVAILABLE',
    condition: 'retrieval that could not complete',
    retryable: true,
    provoke: async () => (await createCaller(ofMixed)).ask({ query: asking('status-500', 'silt') }),
  },
]

describe('Errors: each row of the table', () => {
  test.each(TABLE)('$status $code: $condition; retryable $retryable', async ({ status, code, retryable, provoke }) => {
    const answer = await provoke()
    const { error } = answer.error()
    expect([answer.status, error.code, error.retryable]).toEqual([status, code, retryable])
    expect(answer.headers.get('retry-after') !== null).toBe(retryable)
  })
})

describe('Errors: rules', () => {
  test('the catalogue holds the codes of the table and no other', () => {
    expect(new Set(ERROR_CODES)).toEqual(new Set(TABLE.map(({ code }) => code)))
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
  })

  test('nothing of a cause is shown: no stack, no host, no provider, no SQL', async () => {
    const caller = await createCaller(ofMixed)
    for (const behaviour of ['status-401', 'reset', 'echo', 'short-vector'] as const) {
      const body = (await caller.ask({ query: asking(behaviour, 'silt') })).bytes.toString()
      expect(body).not.toMatch(/provider|127\.0\.0\.1|dimension|vector|\.ts|select|openai|status/i)
    }
  })

  test('a failed request costs an id that is kept: the reservation and the log know it', async () => {
    const caller = await createCaller(ofMixed)
    const answer = await caller.ask({ query: asking('status-500', 'silt') })
    const { rows } = await service.owner.query<{ trace_id: string; state: string }>(
      'select trace_id, state from reservations where id = $1',
      [answer.error().request_id.slice(4)],
    )
    expect(rows).toEqual([{ trace_id: answer.error().trace_id.slice(4), state: 'refunded' }])
  })
})
