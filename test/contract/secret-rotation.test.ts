import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseServiceSecrets } from '#core/credentials/settings.ts'
import { startGateway, type LocalGateway } from '#operator/demo/local/stack.ts'
import { rewrapFingerprints } from '#operator/actions/fingerprints.ts'
import type { Caller } from '#test/support/caller.ts'
import { createCaller, service } from './service.ts'
import { outcomeOf } from './replies.ts'

const earlier = service.settings.secrets.SERVICE_SECRET
const later = randomBytes(32).toString('base64')
const ALREADY = [409, 'REQUEST_ALREADY_PROCESSED']

/** Gateways of the same installation, in the order in which a rotation starts them. */
let accepting: LocalGateway
let writing: LocalGateway
let rotated: LocalGateway
beforeAll(async () => {
  accepting = await startWith(`${earlier},${later}`, 'gateway-accepting')
  writing = await startWith(`${later},${earlier}`, 'gateway-writing')
  rotated = await startWith(later, 'gateway-rotated')
})
afterAll(() => Promise.all([accepting, writing, rotated].map((gateway) => gateway.stop())))

function startWith(secret: string, name: string): Promise<LocalGateway> {
  const settings = { ...service.settings, secrets: { ...service.settings.secrets, SERVICE_SECRET: secret } }
  return startGateway(
    settings,
    service.searchNodes.map(({ address }) => address),
    name,
  )
}

/** Fingerprints of the caller's requests, in the order of admission. */
async function fingerprintsOf(caller: Caller): Promise<readonly string[]> {
  const { rows } = await service.owner.query<{ fingerprint: string }>(
    `select encode(fingerprint, 'hex') as fingerprint from reservations where entitlement_id = $1 order by admitted_at`,
    [caller.entitlementId],
  )
  return rows.map(({ fingerprint }) => fingerprint)
}

describe('SERVICE_SECRET: rotation', () => {
  test('an Idempotency-Key used under the earlier secret is a 409 under the new order', async () => {
    const caller = await createCaller()
    const once = { headers: { 'idempotency-key': randomUUID() } }
    const first = await caller.ask({}, once)
    for (const { baseUrl } of [writing, accepting]) {
      const again = await caller.ask({}, { ...once, baseUrl })
      expect(outcomeOf(again)).toEqual(ALREADY)
      expect(again.error().error.original_request_id).toBe(first.retrieved().request_id)
    }
  })

  test('an Idempotency-Key used under the new order is a 409 where the earlier secret is still first', async () => {
    const caller = await createCaller()
    const once = { headers: { 'idempotency-key': randomUUID() } }
    const first = await caller.ask({}, { ...once, baseUrl: writing.baseUrl })
    const again = await caller.ask({}, { ...once, baseUrl: accepting.baseUrl })
    expect(outcomeOf(again)).toEqual(ALREADY)
    expect(again.error().error.original_request_id).toBe(first.retrieved().request_id)
  })

  test('a query has one fingerprint before, during and after the rotation', async () => {
    const caller = await createCaller()
    for (const { baseUrl } of [service.gateways[0], accepting, writing].flatMap((gateway) => gateway ?? []))
      expect((await caller.ask({}, { baseUrl })).status).toBe(200)
    const serviceSecrets = parseServiceSecrets(`${later},${earlier}`)
    const { organization } = caller
    await rewrapFingerprints(service.operator, { organization, serviceSecrets })
    for (const { baseUrl } of [writing, rotated]) expect((await caller.ask({}, { baseUrl })).status).toBe(200)
    const fingerprints = await fingerprintsOf(caller)
    expect(fingerprints).toHaveLength(5)
    expect(new Set(fingerprints).size).toBe(1)
  })

  test('an Idempotency-Key used under the new order is a 409 once the earlier secret is removed', async () => {
    const caller = await createCaller()
    const once = { headers: { 'idempotency-key': randomUUID() } }
    const first = await caller.ask({}, { ...once, baseUrl: writing.baseUrl })
    const serviceSecrets = parseServiceSecrets(`${later},${earlier}`)
    await rewrapFingerprints(service.operator, { organization: caller.organization, serviceSecrets })
    const again = await caller.ask({}, { ...once, baseUrl: rotated.baseUrl })
    expect(outcomeOf(again)).toEqual(ALREADY)
    expect(again.error().error.original_request_id).toBe(first.retrieved().request_id)
  })
})
