import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Caller } from '#test/support/caller.ts'
import { ask, type Answer, type AskOptions } from '#test/support/http.ts'
import { asking } from '#test/support/embedding-faults.ts'
import { MIXED_KNOWLEDGE_BASE, OF_MIXED } from './mixed-corpus.ts'
import { baseUrl, createCaller } from './service.ts'

interface Draft {
  key: string
  headers: Record<string, string>
  body: Record<string, unknown>
  /** Last change of the body's text. */
  write: (json: string) => string
}

interface Gate {
  readonly name: string
  readonly refusal: readonly [number, string]
  /** Makes the request one that this gate refuses. */
  readonly spoil: (draft: Draft) => void
}

const USED_IDEMPOTENCY_KEY = randomUUID()
const invalid = [400, 'INVALID_REQUEST'] as const

let [caller, withoutScope, spent, fast]: (Caller | undefined)[] = []
const keyOf = (of: Caller | undefined): string => of?.key ?? ''

beforeAll(async () => {
  caller = await createCaller(OF_MIXED)
  withoutScope = await createCaller({ ...OF_MIXED, scopes: ['usage:read'] })
  spent = await createCaller({ ...OF_MIXED, limits: { requests_per_day: 1, requests_per_minute: 1 } })
  fast = await createCaller({ ...OF_MIXED, limits: { requests_per_minute: 1 } })
  expect((await spent.ask({}, { headers: { 'idempotency-key': USED_IDEMPOTENCY_KEY } })).status).toBe(200)
  expect((await fast.ask()).status).toBe(200)
})

/** The gates in the order of the decisions. A request that two of them refuse is answered by the first. */
const GATES: readonly Gate[] = [
  {
    name: '1 headers: Content-Encoding',
    refusal: invalid,
    spoil: ({ headers }) => (headers['content-encoding'] = 'gzip'),
  },
  { name: '2 authenticate: the key', refusal: [401, 'INVALID_API_KEY'], spoil: (draft) => (draft.key = 'erk_live_0') },
  {
    name: '2 authenticate: the scope',
    refusal: [403, 'SCOPE_FORBIDDEN'],
    spoil: (draft) => (draft.key = keyOf(withoutScope)),
  },
  {
    name: '3 body: its size',
    refusal: [413, 'INVALID_REQUEST'],
    spoil: (draft) => (draft.write = (json) => json.padEnd(16_385)),
  },
  {
    name: '3 body: its media type',
    refusal: invalid,
    spoil: ({ headers }) => (headers['content-type'] = 'text/plain'),
  },
  {
    name: '3 body: the Idempotency-Key',
    refusal: invalid,
    spoil: ({ headers }) => (headers['idempotency-key'] = 'short'),
  },
  { name: '3 body: its JSON', refusal: invalid, spoil: (draft) => (draft.write = (json) => json.slice(0, -1)) },
  { name: '3 body: its fields', refusal: invalid, spoil: ({ body }) => (body['surprise'] = 1) },
  {
    name: '4 entitle',
    refusal: [403, 'ENTITLEMENT_INACTIVE'],
    spoil: ({ body }) => (body['knowledge_base'] = 'unknown'),
  },
  {
    name: '5 narrow: filters',
    refusal: [403, 'FILTER_FORBIDDEN'],
    spoil: ({ body }) => (body['filters'] = { language: ['de'] }),
  },
  {
    name: '5 narrow: profile',
    refusal: [403, 'FILTER_FORBIDDEN'],
    spoil: ({ body }) => (body['profile'] = randomUUID()),
  },
  {
    name: '7 admit: idempotency',
    refusal: [409, 'REQUEST_ALREADY_PROCESSED'],
    spoil: (draft) => {
      draft.key = keyOf(spent)
      draft.headers['idempotency-key'] = USED_IDEMPOTENCY_KEY
    },
  },
  { name: '7 admit: allowances', refusal: [429, 'QUOTA_EXHAUSTED'], spoil: (draft) => (draft.key = keyOf(spent)) },
  { name: '7 admit: rate', refusal: [429, 'RATE_LIMITED'], spoil: (draft) => (draft.key = keyOf(fast)) },
  {
    name: '8 paid work',
    refusal: [503, 'RETRIEVAL_UNAVAILABLE'],
    spoil: ({ body }) => (body['query'] = asking('status-400', 'silt')),
  },
]

async function send(spoilt: readonly Gate[]): Promise<Answer> {
  const draft: Draft = {
    key: keyOf(caller),
    headers: {},
    body: { query: 'silt', knowledge_base: MIXED_KNOWLEDGE_BASE },
    write: (json) => json,
  }
  // The later gate first, so that the earlier gate wins where both change the same part.
  for (const gate of spoilt.toReversed()) gate.spoil(draft)
  // A minute after the last request its rate would be free again.
  if (draft.key === keyOf(fast)) await fast?.ask()
  const options: AskOptions = { key: draft.key, headers: draft.headers }
  return ask(baseUrl, draft.write(JSON.stringify(draft.body)), options)
}

const refusalOf = (answer: Answer): readonly [number, string] => [answer.status, answer.error().error.code]

describe('Order of checks: each gate refuses by itself', () => {
  test.each(GATES)('$name', async (gate) => {
    expect(refusalOf(await send([gate]))).toEqual(gate.refusal)
  })

  test('a request that no gate refuses is served', async () => {
    expect((await send([])).status).toBe(200)
  })
})

const PAIRS = GATES.flatMap((first, at) => GATES.slice(at + 1).map((second) => ({ first, second }))).filter(
  ({ first, second }) => first.refusal.join() !== second.refusal.join(),
)

describe('Order of checks: of two gates that refuse, the first answers', () => {
  test.each(PAIRS)('$first.name before $second.name', async ({ first, second }) => {
    expect(refusalOf(await send([first, second]))).toEqual(first.refusal)
  })

  test('a request that every gate refuses is answered by the first', async () => {
    expect(refusalOf(await send(GATES))).toEqual(invalid)
  })
})
