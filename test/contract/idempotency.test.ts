import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, describe, expect, test } from 'vitest'
import { idempotencyDigests } from '#core/credentials/fingerprint.ts'
import type { LimitScope } from '#core/limits/counter-keys.ts'
import { openCounters } from '#core/limits/counters.ts'
import { planLimitsSchema } from '#core/domain/quota-plan.ts'
import { createLog } from '#core/platform/log.ts'
import { rotateKey } from '#operator/actions/api-keys.ts'
import { parsePeppers, parseServiceSecrets } from '#core/credentials/settings.ts'
import { eraseFingerprints, rotateFingerprints } from '#operator/actions/fingerprints.ts'
import { ABSTAINED_QUERY, type Caller } from '#test/support/caller.ts'
import { callsFor } from '#test/support/embedding-endpoint.ts'
import { asking, refuseHeld } from '#test/support/embedding-faults.ts'
import { OF_MIXED } from './mixed-corpus.ts'
import { admittedOf, age, loseCounters } from './counters.ts'
import { createCaller, providerUrl, service } from './service.ts'
import { isShed, outcomeOf, windowsOf } from './replies.ts'
import { expectEventually, until } from '#test/support/until.ts'

const under = (
  key: string | readonly string[],
): { readonly headers: { readonly 'idempotency-key': string | readonly string[] } } => ({
  headers: { 'idempotency-key': key },
})
const counters = openCounters(service.settings.redisUrl, createLog('test', 'silent'))
afterAll(() => counters.close())
const ALREADY = [409, 'REQUEST_ALREADY_PROCESSED']

describe('Idempotency-Key: 16 to 128 characters of visible ASCII', () => {
  test.each([
    ['of 16 characters', 'a'.repeat(16)],
    ['of 128 characters', 'z'.repeat(128)],
    ['of every visible ASCII character', Array.from({ length: 94 }, (_, n) => String.fromCharCode(0x21 + n)).join('')],
  ])('accepted: %s', async (_, key) => {
    expect((await (await createCaller()).ask({}, under(key))).status).toBe(200)
  })

  test.each([
    ['empty', ''],
    ['of 15 characters', 'a'.repeat(15)],
    ['of 129 characters', 'z'.repeat(129)],
    ['with a space', 'a key of more than sixteen'],
    ['with a tab', `a\tkey-of-more-than-sixteen`],
    ['beyond ASCII', 'schlüssel-mit-umlaut'],
    ['sent twice', ['a'.repeat(16), 'b'.repeat(16)]],
  ])('refused with 400: %s', async (_, key) => {
    const answer = await (await createCaller()).ask({}, under(key))
    expect([...outcomeOf(answer), answer.error().error.details?.[0]?.path]).toEqual([
      400,
      'INVALID_REQUEST',
      'Idempotency-Key',
    ])
  })
})

describe('Idempotency-Key: already received', () => {
  test('409 with the original request_id and x-should-retry: false', async () => {
    const caller = await createCaller()
    const key = randomUUID()
    const first = await caller.ask({}, under(key))
    for (let n = 0; n < 3; n++) {
      const again = await caller.ask({}, under(key))
      expect(outcomeOf(again)).toEqual(ALREADY)
      expect(again.error().error.original_request_id).toBe(first.retrieved().request_id)
      expect(again.error().error.message).toContain('the first reply cannot be had again; ask with a new key')
      expect(again.error().request_id).not.toBe(first.retrieved().request_id)
      expect([again.headers.get('x-should-retry'), again.error().error.retryable]).toEqual(['false', false])
    }
  })

  test('also with another body, which it says, and after an abstention', async () => {
    const caller = await createCaller()
    const key = randomUUID()
    const first = { query: ABSTAINED_QUERY, top_k: 2 }
    await caller.ask(first, under(key))
    const again = async (body: object): Promise<unknown> => {
      const answer = await caller.ask(body, under(key))
      expect(outcomeOf(answer)).toEqual(ALREADY)
      return answer.error().error.details?.map(({ reason }) => reason)
    }
    expect(await again({ top_k: 2, query: ABSTAINED_QUERY })).toEqual(['same_body'])
    expect(await again({ ...first, top_k: 1 })).toEqual(['another_body'])
    expect(await again({ ...first, filters: { language: ['en'] } })).toEqual(['another_body'])
    const serviceSecrets = parseServiceSecrets(service.settings.secrets.SERVICE_SECRET)
    await rotateFingerprints(service.operator, { organization: caller.organization, serviceSecrets })
    expect([await again(first), await again({ ...first, top_k: 1 })]).toEqual([['same_body'], ['another_body']])
    await eraseFingerprints(service.operator, { organization: caller.organization, epoch: 1, serviceSecrets })
    expect(await again(first)).toBeUndefined()
  })

  test('it comes before any 429, with the rate used up, more often than the rate allows', async () => {
    const caller = await createCaller({ limits: { requests_per_minute: 2 } })
    const key = randomUUID()
    await caller.ask({}, under(key))
    await caller.ask()
    expect(outcomeOf(await caller.ask())).toEqual([429, 'RATE_LIMITED'])
    for (let n = 0; n < 5; n++) expect(outcomeOf(await caller.ask({}, under(key)))).toEqual(ALREADY)
  })

  test('a 409 consumes nothing', async () => {
    const caller = await createCaller({ limits: { requests_per_minute: 10, requests_per_day: 10 } })
    const key = randomUUID()
    const before = windowsOf(await caller.ask({}, under(key)))
    const after = windowsOf(await caller.ask({}, under(key)))
    expect([after.minute.remaining, after.day.remaining]).toEqual([before.minute.remaining, before.day.remaining])
  })

  test('a key survives the rotation of the API key', async () => {
    const caller = await createCaller()
    const key = randomUUID()
    await caller.ask({}, under(key))
    const rotated = await rotateKey(service.operator, {
      key: caller.keyId,
      peppers: parsePeppers(service.settings.secrets.KEY_PEPPERS),
    })
    expect(outcomeOf(await caller.ask({}, { key: rotated.key, ...under(key) }))).toEqual(ALREADY)
  })

  test('a key survives the loss of the limit counters', async () => {
    const caller = await createCaller()
    const key = randomUUID()
    await caller.ask({}, under(key))
    await loseCounters(caller)
    expect(outcomeOf(await caller.ask({}, under(key)))).toEqual(ALREADY)
  })

  test('a key is held for at least 30 days', async () => {
    const caller = await createCaller()
    const key = randomUUID()
    await caller.ask({}, under(key))
    // From 30 days on the job worker may forget it at any moment.
    await age(caller, '29 days 23:50:00')
    expect(outcomeOf(await caller.ask({}, under(key)))).toEqual(ALREADY)
  })

  test('a key is unique per client: another client, of the same organization even, may use it', async () => {
    const caller = await createCaller()
    const [colleague, stranger] = [await createCaller({ organization: caller.organization }), await createCaller()]
    const key = randomUUID()
    for (const one of [caller, colleague, stranger]) expect((await one.ask({}, under(key))).status).toBe(200)
  })

  test('keys are compared exactly: another case is another key', async () => {
    const caller = await createCaller()
    const key = `key-${randomUUID()}`
    expect([
      (await caller.ask({}, under(key))).status,
      (await caller.ask({}, under(key.toUpperCase()))).status,
    ]).toEqual([200, 200])
  })

  test('of concurrent duplicates exactly one is served; the others name it', async () => {
    const caller = await createCaller()
    const key = randomUUID()
    const sent = await Promise.all(Array.from({ length: 12 }, () => caller.ask({}, under(key))))
    const answers = sent.filter((answer) => !isShed(answer))
    const served = answers.filter(({ status }) => status === 200)
    expect(served).toHaveLength(1)
    for (const answer of answers.filter((one) => one !== served[0])) {
      expect(outcomeOf(answer)).toEqual(ALREADY)
      expect(answer.error().error.original_request_id).toBe(served[0]?.retrieved().request_id)
    }
    expect(await admittedOf(caller)).toBe(1)
  })
})

/** As a gateway that ends between the charge in Redis and the reservation in Postgres. @returns how to undo it. */
async function chargeOnly(caller: Caller, key: string): Promise<() => Promise<unknown>> {
  const { rows } = await service.owner.query<LimitScope & { epoch: string }>(
    `select r.organization_id as "organizationId", e.epoch, r.entitlement_id as "entitlementId",
       r.knowledge_base_id as "knowledgeBaseId", r.client_id as "clientId", r.environment
     from reservations r join limit_epochs e using (organization_id) where r.entitlement_id = $1`,
    [caller.entitlementId],
  )
  const [scope] = rows
  if (scope === undefined) throw new Error('the caller has not asked yet')
  const secrets = parseServiceSecrets(service.settings.secrets.SERVICE_SECRET)
  const [digest] = idempotencyDigests(secrets, scope.clientId, scope.environment, key)
  const requestId = randomUUID()
  await counters.usable()
  const charged = await counters.admit(scope, scope.epoch, {
    requestId,
    limits: planLimitsSchema.parse({}),
    corpusPassages: 1,
    exposureAllowance: 0,
    topK: 0,
    idempotencyDigest: digest,
  })
  expect(charged.status).toBe('admitted')
  return () =>
    counters.settle(scope, { requestId, ending: 'undo', epoch: scope.epoch, idempotencyDigest: digest, served: [] })
}

describe('Idempotency-Key: received means admitted and not refunded', () => {
  test('a request that releases its key before it is recorded is never named: the waiting one is served', async () => {
    const caller = await createCaller()
    await caller.ask()
    const key = randomUUID()
    const giveBack = await chargeOnly(caller, key)
    const waiting = caller.ask({}, under(key))
    await sleep(40)
    await giveBack()
    expect((await waiting).status).toBe(200)
  })

  test('a gateway that ends after the charge and before the reservation leaves no 409 and no charge', async () => {
    const caller = await createCaller({ limits: { requests_per_day: 3 } })
    await caller.ask()
    const key = randomUUID()
    await chargeOnly(caller, key)
    const served = await until('the key is free', async () => {
      const answer = await caller.ask({}, under(key))
      expect(answer.status).not.toBe(409)
      return answer.status === 200 && answer
    })
    expect(windowsOf(served).day.remaining).toBe(0)
    const again = await until('the charge is gone', async () => {
      const answer = await caller.ask()
      return answer.status === 200 && answer
    })
    expect(windowsOf(again).day.remaining).toBe(0)
    expect(outcomeOf(await caller.ask())).toEqual([429, 'QUOTA_EXHAUSTED'])
  })

  test('in progress it is a 409; after a failure that delivered nothing it is free again', async () => {
    const caller = await createCaller(OF_MIXED)
    const [key, marker] = [randomUUID(), randomUUID()]
    const held = caller.ask({ query: asking('held', marker) }, under(key))
    await expectEventually(() => callsFor(providerUrl, marker), 1)
    const during = await caller.ask({}, under(key))
    expect(outcomeOf(during)).toEqual(ALREADY)
    await refuseHeld(providerUrl, marker)
    const failed = await held
    expect(outcomeOf(failed)).toEqual([503, 'RETRIEVAL_UNAVAILABLE'])
    expect(during.error().error.original_request_id).toBe(failed.error().request_id)
    expect((await caller.ask({}, under(key))).status).toBe(200)
    expect(outcomeOf(await caller.ask({}, under(key)))).toEqual(ALREADY)
  })

  test.each([
    ['a fault of the request', { top_k: 0 }],
    ['a forbidden filter', { filters: { language: ['de'] } }],
  ])('a request refused before admission for %s leaves it free', async (_, body) => {
    const caller = await createCaller()
    const key = randomUUID()
    expect((await caller.ask(body, under(key))).status).toBeGreaterThanOrEqual(400)
    expect((await caller.ask({}, under(key))).status).toBe(200)
  })
})
