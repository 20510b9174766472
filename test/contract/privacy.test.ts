import { randomBytes, randomInt } from 'node:crypto'
import { readFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Caller } from '#test/support/caller.ts'
import { sendRaw } from '#test/support/http.ts'
import { asking } from '#test/support/embedding-faults.ts'
import { ordering } from '#test/support/reader-endpoint.ts'
import { OF_MIXED } from './mixed-corpus.ts'
import { showingProfile } from './profiles.ts'
import { baseUrl, createCaller, internalUrl, service } from './service.ts'
import { until } from '#test/support/until.ts'

/** Words that occur nowhere else. They are sent in a query, in an Idempotency-Key and in an API key. */
const MARKER = `quuxmarker${randomBytes(8).toString('hex')}`
const IDEMPOTENCY_MARKER = `idem-${randomBytes(16).toString('hex')}`
/** A provision that no corpus has. A reply returns this part of the query; it is stored nowhere. */
const PROVISION = Array.from({ length: 3 }, () => randomInt(1_000, 10_000)).join('.')
let caller: Caller
let kept: readonly (readonly [string, string])[] = []

/** Every way in which a query can end. */
async function askEveryWay(): Promise<readonly string[]> {
  const query = `What does ${MARKER} mean?`
  const rerankers = await Promise.all(
    ['alike', 'echo', 'status-500', 'reset'].map((model) => showingProfile(caller, ordering(model, 5))),
  )
  const one = { headers: { 'idempotency-key': IDEMPOTENCY_MARKER } }
  const replies = [
    await caller.ask({ query }, one),
    await caller.ask({ query }, one),
    await caller.ask({ query: asking('echo', query) }),
    await caller.ask({ query: asking('status-400', query) }),
    await caller.ask({ query: asking('status-500', query) }),
    await caller.ask({ query, top_k: 0 }),
    await caller.ask({ query, surplus: MARKER }),
    await caller.ask({ query, knowledge_base: MARKER }),
    await caller.ask({ query, filters: { subject: [MARKER] } }),
    await caller.ask({ query, filters: { surplus: [MARKER] } }),
    await caller.ask({ query, profile: MARKER }),
    await caller.ask({ query }, { key: MARKER }),
    await caller.ask({ query }, { path: `/${MARKER}` }),
    await caller.ask({ query }, { headers: { 'content-type': MARKER } }),
    await caller.ask({ query }, { headers: { traceparent: MARKER, 'user-agent': MARKER, 'x-request-id': MARKER } }),
    await caller.send(`{"query":"${MARKER}`),
  ]
  for (const profile of rerankers) replies.push(await caller.ask({ query, profile }))
  const raw = await sendRaw(baseUrl, `${MARKER} ${MARKER}\r\n\r\n`)
  return [...replies.map(({ headers, bytes }) => `${JSON.stringify([...headers])} ${bytes.toString()}`), raw]
}

async function tablesOf(): Promise<readonly (readonly [string, string])[]> {
  const { rows } = await service.owner.query<{ name: string }>(
    "select table_name as name from information_schema.tables where table_schema = 'public'",
  )
  return Promise.all(
    rows.map(async ({ name }) => {
      const { rows: all } = await service.owner.query<{ text: string }>(
        `select coalesce(string_agg(t::text, E'\\n'), '') as text from "${name}" t`,
      )
      return [`table ${name}`, all[0]?.text ?? ''] as const
    }),
  )
}

/** Each key with its value, whatever its type. */
async function redisOf(): Promise<readonly (readonly [string, string])[]> {
  using ending = new DisposableStack()
  const redis = ending.adopt(new Redis(service.settings.redisUrl, { lazyConnect: true }), (it) => it.disconnect())
  await redis.connect()
  const found: string[] = []
  for await (const keys of redis.scanStream({ count: 1_000 })) {
    for (const key of keys as readonly string[]) {
      const dumped = await redis.dumpBuffer(key)
      found.push(`${key} ${dumped?.toString('latin1') ?? ''} ${JSON.stringify(await plainValue(redis, key))}`)
    }
  }
  return [['Redis', found.join('\n')]]
}

async function plainValue(redis: Redis, key: string): Promise<unknown> {
  switch (await redis.type(key)) {
    case 'string':
      return redis.get(key)
    case 'hash':
      return redis.hgetall(key)
    case 'list':
      return redis.lrange(key, 0, -1)
    case 'set':
      return redis.smembers(key)
    case 'zset':
      return redis.zrange(key, '0', '-1')
    case 'stream':
      return redis.xrange(key, '-', '+')
    default:
      return null
  }
}

/** Other tests write into the folder meanwhile: what is gone again is kept nowhere. */
function filesOf(path: string): readonly (readonly [string, string])[] {
  try {
    return statSync(path).isDirectory()
      ? readdirSync(path).flatMap((name) => filesOf(join(path, name)))
      : [[path, readFileSync(path, 'latin1')]]
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  }
}

let replies: readonly string[] = []
let named: string
beforeAll(async () => {
  caller = await createCaller(OF_MIXED)
  replies = await askEveryWay()
  named = JSON.stringify(
    (await (await createCaller()).ask({ query: `What does COB-M ${PROVISION} say of ${MARKER}?` })).retrieved()
      .abstention,
  )
  // The ledger's job has run once the answered request has its entry.
  await until('the ledger has the entry', async () => {
    const { rowCount } = await service.owner.query('select from ledger where entitlement_id = $1 and charged', [
      caller.entitlementId,
    ])
    return rowCount !== 0
  })
  const metrics = await fetch(`${internalUrl}/metrics`).then((response) => response.text())
  kept = [...(await tablesOf()), ...(await redisOf()), ...filesOf(service.settings.folder), ['metrics', metrics]]
})

const holding = (text: string): readonly string[] =>
  kept.filter(([, content]) => content.includes(text)).map(([where]) => where)

describe('Privacy', () => {
  test('the search looks where things are kept', () => {
    const id = /req_([0-9a-f-]{36})/.exec(replies[0] ?? '')?.[1] ?? '-'
    expect(holding(id)).toEqual(
      expect.arrayContaining(['table reservations', 'table ledger', service.gateways[0]?.logFile]),
    )
    expect(holding(caller.entitlementId)).toContain('Redis')
  })

  test.each([
    ['as it is', MARKER],
    ['in base64', Buffer.from(MARKER).toString('base64').slice(0, 30)],
    ['in hexadecimal', Buffer.from(MARKER).toString('hex')],
    ['in upper case', MARKER.toUpperCase()],
  ])('the raw query is in no log, metric, queue, table, cache file or artifact: %s', (_, form) => {
    expect(holding(form)).toEqual([])
  })

  test('nor is a provision that it names, but for the reply that says that it is not in the corpus', () => {
    expect(named).toContain(`"text":"COB-M ${PROVISION}"`)
    expect(named).not.toContain(MARKER)
    expect(holding(PROVISION)).toEqual([])
    expect(holding(PROVISION.replaceAll('.', '/'))).toEqual([])
  })

  test('nor in any reply: details never repeat a value that was sent', () => {
    for (const reply of replies) expect(reply).not.toContain(MARKER)
  })

  test('an Idempotency-Key is stored only as HMAC', () => {
    expect(holding(IDEMPOTENCY_MARKER)).toEqual([])
  })

  test('an API key is stored nowhere', () => {
    expect(holding(caller.key)).toEqual([])
    expect(holding(caller.key.slice(14))).toEqual([])
  })

  test.each(['KEY_PEPPERS', 'SERVICE_SECRET', 'MANIFEST_PRIVATE_KEY'] as const)('%s is stored nowhere', (name) => {
    expect(holding(service.settings.secrets[name])).toEqual([])
  })

  test.each(['a-key-of-the-test-provider', 'a-key-of-the-test-reader'])(
    'the key of an endpoint is stored nowhere: %s',
    (key) => {
      expect(holding(key)).toEqual([])
    },
  )
})
