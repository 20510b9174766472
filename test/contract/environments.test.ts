import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parsePeppers } from '#core/credentials/settings.ts'
import { startGateway, type LocalGateway } from '#operator/demo/local/stack.ts'
import { grantEntitlement } from '#operator/actions/entitlements.ts'
import { issueKeyFor } from '#operator/actions/api-keys.ts'
import { KNOWLEDGE_BASE, type Caller } from '#test/support/caller.ts'
import { createCaller, service } from './service.ts'
import { outcomeOf } from './replies.ts'

let runtime: LocalGateway
beforeAll(async () => {
  const addresses = service.searchNodes.map(({ address }) => address)
  runtime = await startGateway({ ...service.settings, keyEnvironment: 'test' }, addresses, 'gateway-test-runtime')
})
afterAll(() => runtime.stop())

/** A client with a key in either environment, one request a day in each. */
async function inBoth(): Promise<{ readonly live: Caller; readonly testKey: string }> {
  const live = await createCaller({ limits: { requests_per_day: 1 } })
  const { client } = live
  await grantEntitlement(service.operator, {
    client,
    environment: 'test',
    knowledgeBase: KNOWLEDGE_BASE,
    plan: client,
    languages: ['en'],
    jurisdictions: ['HS-M'],
    subjects: null,
  })
  const issued = await issueKeyFor(service.operator, {
    client,
    environment: 'test',
    peppers: parsePeppers(service.settings.secrets.KEY_PEPPERS),
  })
  return { live, testKey: issued.key }
}

describe('Authentication: test and live runtimes', () => {
  test('a test key works against the test runtime and a live key does not', async () => {
    const { live, testKey } = await inBoth()
    expect(outcomeOf(await live.ask({}, { key: testKey, baseUrl: runtime.baseUrl }))).toEqual([200, 'answer'])
    expect(outcomeOf(await live.ask({}, { baseUrl: runtime.baseUrl }))).toEqual([401, 'INVALID_API_KEY'])
  })

  test('a test key cannot authenticate against the live runtime', async () => {
    const { live, testKey } = await inBoth()
    expect(outcomeOf(await live.ask({}, { key: testKey }))).toEqual([401, 'INVALID_API_KEY'])
  })

  test('allowances and idempotency keys of the two environments are apart', async () => {
    const { live, testKey } = await inBoth()
    const once = { headers: { 'idempotency-key': randomUUID() } }
    expect(outcomeOf(await live.ask({}, once))).toEqual([200, 'answer'])
    expect(outcomeOf(await live.ask({}, { key: testKey, baseUrl: runtime.baseUrl, ...once }))).toEqual([200, 'answer'])
    expect(outcomeOf(await live.ask({}, { key: testKey, baseUrl: runtime.baseUrl, ...once }))).toEqual([
      409,
      'REQUEST_ALREADY_PROCESSED',
    ])
  })
})
