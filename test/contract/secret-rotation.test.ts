import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startGateway } from '#jobs/cli/local/stack.ts'
import type { LocalGateway } from '#jobs/cli/local/stack.ts'
import { createCaller, service } from '#test/support/contract/service.ts'
import { outcomeOf } from '#test/support/contract/windows.ts'

const earlier = service.settings.secrets.SERVICE_SECRET
const later = randomBytes(32).toString('base64')
const ALREADY = [409, 'REQUEST_ALREADY_PROCESSED']

/** Gateways of the same installation, in the order in which a rotation starts them. */
let accepting: LocalGateway
let writing: LocalGateway
beforeAll(async () => {
  const started = await Promise.all([
    startWith(`${earlier},${later}`, 'gateway-accepting'),
    startWith(`${later},${earlier}`, 'gateway-writing'),
  ])
  ;[accepting, writing] = started
})
afterAll(() => Promise.all([accepting.stop(), writing.stop()]))

function startWith(secret: string, name: string): Promise<LocalGateway> {
  const settings = { ...service.settings, secrets: { ...service.settings.secrets, SERVICE_SECRET: secret } }
  return startGateway(
    settings,
    service.searchNodes.map(({ address }) => address),
    name,
  )
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
})
