import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { issueKey } from '#core/credentials/api-key.ts'
import { GATEWAY_BOUNDS } from '#gateway/bounds.ts'
import { startGateway, type LocalGateway } from '#operator/demo/local/stack.ts'
import { startFaultProxy, type FaultProxy } from '#test/support/proxy.ts'
import { createCaller, service } from './service.ts'
import { outcomeOf, windowsOf } from './replies.ts'
import { expectEventually } from '#test/support/until.ts'

const PARTIES = ['postgres', 'redis', 'search'] as const
type Party = (typeof PARTIES)[number]
const proxies = new Map<Party, FaultProxy>()
let gateway: LocalGateway

async function proxyTo(party: Party, url: string): Promise<FaultProxy> {
  const proxy = await startFaultProxy(url)
  proxies.set(party, proxy)
  return proxy
}

/** A gateway of this file's own, with its dependencies behind proxies that can lose them. */
beforeAll(async () => {
  const { settings, searchNodes } = service
  const postgres = await proxyTo('postgres', settings.gatewayDatabaseUrl)
  const redis = await proxyTo('redis', settings.redisUrl)
  const search = await proxyTo('search', `grpc://${searchNodes[0]?.address}`)
  gateway = await startGateway(
    { ...settings, gatewayDatabaseUrl: postgres.url, redisUrl: redis.url },
    [new URL(search.url).host],
    'gateway-dependencies',
  )
})
afterEach(async () => {
  for (const proxy of proxies.values()) proxy.set('pass')
  const caller = await createCaller()
  await expectEventually(async () => (await caller.ask({}, here())).status, 200)
  await expectEventually(readiness, readyBody())
})
afterAll(async () => {
  await gateway.stop()
  await Promise.all([...proxies.values()].map((proxy) => proxy.stop()))
})

const bodySchema = z.looseObject({ not_served: z.array(z.looseObject({ reason: z.string() })).default([]) })

/** The body of /readyz, without the knowledge bases of other tests that never had a version. */
async function readiness(): Promise<unknown> {
  const body = bodySchema.parse(await (await fetch(`${gateway.internalUrl}/readyz`)).json())
  const { not_served: all, ...rest } = body
  const notServed = all.filter(({ reason }) => reason !== 'no version is active')
  return { ...rest, ...(notServed.length === 0 ? {} : { not_served: notServed }) }
}

/** The body of /readyz of a ready gateway that has lost the given parties. */
function readyBody(...lost: readonly Party[]): unknown {
  const states = PARTIES.map((party) => [party, lost.includes(party) ? down : { state: 'up' }])
  const dependencies = { ...Object.fromEntries(states), models: { state: 'up' } }
  const reason = 'no search node that answers holds its active version'
  const not_served: unknown = expect.arrayContaining([expect.objectContaining({ reason })])
  return { status: 'ready', faults: [], dependencies, ...(lost.includes('search') ? { not_served } : {}) }
}
const down: unknown = { state: 'down', reason: expect.any(String) }

const lose = (party: Party): void => proxies.get(party)?.set('cut')
const here = (): { readonly baseUrl: string } => ({ baseUrl: gateway.baseUrl })

describe('Errors that are not the caller’s: a dependency that is gone', () => {
  test.each([
    ['postgres', 'INTERNAL_UNAVAILABLE'],
    ['redis', 'INTERNAL_UNAVAILABLE'],
    ['search', 'RETRIEVAL_UNAVAILABLE'],
  ] as const)(
    'without %s 503 %s, never an abstention or an empty 200; the day and the idempotency key are as before',
    async (party, code) => {
      const caller = await createCaller({ limits: { requests_per_day: 10 } })
      expect((await caller.ask({}, here())).status).toBe(200)
      const once = { headers: { 'idempotency-key': randomUUID() } }
      lose(party)
      expect(outcomeOf(await caller.ask({}, { ...here(), ...once }))).toEqual([503, code])
      // Through another gateway, whose dependencies never went away.
      const after = await caller.ask({}, once)
      expect([after.status, windowsOf(after).day.remaining]).toEqual([200, 8])
    },
  )

  test('a key that cannot be looked up is a 503, not a 401: the failure is retryable', async () => {
    const caller = await createCaller()
    lose('postgres')
    expect(outcomeOf(await caller.ask({}, here()))).toEqual([503, 'INTERNAL_UNAVAILABLE'])
  })

  test('a key with a wrong checksum is refused without touching the database', async () => {
    const { key } = await createCaller()
    lose('postgres')
    const answer = await (
      await createCaller()
    ).ask({}, { ...here(), key: `${key.slice(0, -1)}${key.endsWith('0') ? '1' : '0'}` })
    expect(outcomeOf(answer)).toEqual([401, 'INVALID_API_KEY'])
  })

  test(
    'past the budget of failures of its address an unknown key is refused without the database, ' +
      'whatever X-Forwarded-For says',
    async () => {
      const caller = await createCaller()
      const fromFlooding = async (n: number): Promise<number> => {
        const { secret: key } = issueKey('live', { name: 'unknown', secret: Buffer.alloc(32, 3) })
        return (
          await caller.ask(
            {},
            { ...here(), key, from: '127.0.0.79', headers: { 'x-forwarded-for': `198.51.100.${n % 250}` } },
          )
        ).status
      }
      for (let n = 0; n < GATEWAY_BOUNDS.failedKeysPerAddressPerMinute; n++) expect(await fromFlooding(n)).toBe(401)
      // The set of valid keys is cached for a few seconds, or until another test changes it; then the read is repeated.
      const withoutDatabase = async (): Promise<number> => {
        proxies.get('postgres')?.set('pass')
        await expectEventually(() => fromFlooding(0), 401)
        lose('postgres')
        return fromFlooding(1)
      }
      await expectEventually(withoutDatabase, 401)
      const { secret: unknown } = issueKey('live', { name: 'unknown', secret: Buffer.alloc(32, 3) })
      expect((await caller.ask({}, { ...here(), key: unknown })).status).toBe(503)
    },
  )

  test('refused requests look their key up ten times as often as the rate allows; the others need no Postgres', async () => {
    const rate = 4
    const caller = await createCaller({ limits: { requests_per_minute: rate } })
    const refuse = async (): Promise<unknown> =>
      outcomeOf(await caller.ask({}, { ...here(), headers: { 'idempotency-key': randomUUID() } }))
    for (let n = 0; n < rate; n++) expect((await caller.ask({}, here())).status).toBe(200)
    const lookups = proxies.get('postgres')?.count('reservation-by-idempotency')
    const reservations = proxies.get('postgres')?.count('insert-reservation')
    for (let n = 0; n < 12 * rate; n++) expect(await refuse()).toEqual([429, 'RATE_LIMITED'])
    expect([lookups?.delivered, reservations?.delivered]).toEqual([10 * rate, 0])
    // Access and epoch are cached for some seconds; within them, a refusal needs no Postgres at all.
    const withoutPostgres = async (): Promise<unknown> => {
      proxies.get('postgres')?.set('pass')
      await refuse()
      lose('postgres')
      return refuse()
    }
    await expectEventually(withoutPostgres, [429, 'RATE_LIMITED'])
  })

  test.each(PARTIES)('a gateway stays ready without %s, and its reply names what is gone', async (party) => {
    lose(party)
    await expectEventually(readiness, readyBody(party))
  })
})
