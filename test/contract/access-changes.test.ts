import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { parsePeppers } from '#core/credentials/settings.ts'
import { startGateway } from '#operator/demo/local/stack.ts'
import { changeEntitlement, setEntitlementActive } from '#operator/actions/entitlements.ts'
import { issueKeyFor, revokeKeyNow, rotateKey } from '#operator/actions/api-keys.ts'
import { setClientSuspended, setOrganizationSuspended } from '#operator/actions/organizations.ts'
import { createPlan } from '#operator/actions/plans.ts'
import { ANSWERED_QUERY, KNOWLEDGE_BASE, type Caller } from '#test/support/caller.ts'
import { createCaller, service } from './service.ts'
import { outcomeOf } from './replies.ts'
import { expectEventually } from '#test/support/until.ts'
import { adjustedNowMs } from '#test/support/clock.ts'
import { withClient } from '#test/support/postgres.ts'

/** The contract's bound on how long a change may take to reach every gateway. */
const EFFECT_MS = 5_000
/** So that a notification has most likely arrived. After a shorter pause a test proves less, but does not fail. */
const SETTLING_MS = 250
const { operator, owner } = service

const ANSWERED = [200, 'answer']
const REFUSED = [401, 'INVALID_API_KEY']
const INACTIVE = [403, 'ENTITLEMENT_INACTIVE']

const asked = (caller: Caller) => async (): Promise<readonly [number, string]> => outcomeOf(await caller.ask())

async function answeredCaller(): Promise<Caller> {
  const caller = await createCaller()
  expect(await asked(caller)()).toEqual(ANSWERED)
  return caller
}

/** Waits until what is read is what is expected, and asserts that this took no longer than the bound. */
async function expectEffect(read: () => Promise<unknown>, expected: unknown): Promise<void> {
  const beganMs = adjustedNowMs()
  await expectEventually(read, expected)
  expect(adjustedNowMs() - beganMs).toBeLessThan(EFFECT_MS)
}

describe('Keys: changes take effect within 5 s', () => {
  test('revocation', async () => {
    const caller = await answeredCaller()
    await revokeKeyNow(operator, caller.keyId)
    await expectEffect(asked(caller), REFUSED)
  })

  test('revocation, also of a request whose body is still on its way', async () => {
    const caller = await answeredCaller()
    await sleep(SETTLING_MS)
    const body = JSON.stringify({ query: ANSWERED_QUERY, knowledge_base: KNOWLEDGE_BASE })
    const sending = request(`${service.gateways[0]?.baseUrl}/v1/retrieve`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${caller.key}`,
        'content-type': 'application/json',
        'content-length': body.length,
      },
    })
    sending.write(body.slice(0, 10))
    await sleep(SETTLING_MS)
    await revokeKeyNow(operator, caller.keyId)
    await expectEventually(asked(caller), REFUSED)
    sending.end(body.slice(10))
    const [reply]: IncomingMessage[] = await once(sending, 'response')
    reply?.resume()
    expect(reply?.statusCode).toBe(401)
  })

  test('revocation, even when the notification of it is lost', async () => {
    const caller = await answeredCaller()
    // The first request of an organization is itself a change. After its notification the next read is cached.
    await sleep(SETTLING_MS)
    expect(await asked(caller)()).toEqual(ANSWERED)
    const session = await owner.connect()
    try {
      // Triggers do not fire for a replica: nobody is notified.
      await session.query("set session_replication_role = 'replica'")
      await session.query('update api_keys set revoked_at = now() where id = $1', [caller.keyId])
    } finally {
      session.release(true)
    }
    await expectEffect(asked(caller), REFUSED)
  })

  test('expiry of a key that was in use', async () => {
    const caller = await answeredCaller()
    await owner.query("update api_keys set expires_at = now() + interval '300 milliseconds' where id = $1", [
      caller.keyId,
    ])
    await expectEffect(asked(caller), REFUSED)
  })

  test('deactivation of the entitlement, and its return', async () => {
    const caller = await answeredCaller()
    await setEntitlementActive(operator, caller.entitlement, false)
    await expectEffect(asked(caller), INACTIVE)
    await setEntitlementActive(operator, caller.entitlement, true)
    await expectEffect(asked(caller), ANSWERED)
  })

  test('narrowing of the entitlement', async () => {
    const caller = await answeredCaller()
    await changeEntitlement(operator, caller.entitlement, { jurisdictions: ['HS-F'] })
    await expectEffect(async () => (await caller.ask({ filters: { jurisdiction: ['HS-M'] } })).status, 403)
  })

  test('another plan', async () => {
    const caller = await answeredCaller()
    await createPlan(operator, { name: `${caller.client} narrow`, limits: { max_top_k: 1 } })
    await changeEntitlement(operator, caller.entitlement, { plan: `${caller.client} narrow` })
    await expectEffect(async () => (await caller.ask()).retrieved().usage.result_count, 1)
  })

  test('suspension of the client and of the organization', async () => {
    const caller = await answeredCaller()
    await setClientSuspended(operator, caller.client, true)
    await expectEffect(asked(caller), INACTIVE)
    await setClientSuspended(operator, caller.client, false)
    await expectEffect(asked(caller), ANSWERED)
    await setOrganizationSuspended(operator, caller.organization, true)
    await expectEffect(asked(caller), INACTIVE)
  })
})

describe('Keys: two peppers at once while rotating', () => {
  test('a gateway with a new pepper first knows the keys of the old one, and those of the new', async () => {
    const { secrets } = service.settings
    const next = `next:${randomBytes(32).toString('base64')}`
    const caller = await createCaller()
    const addresses = service.searchNodes.map(({ address }) => address)
    const rotating = await startGateway(
      { ...service.settings, secrets: { ...secrets, KEY_PEPPERS: `${next},${secrets.KEY_PEPPERS}` } },
      addresses,
      'gateway-rotating',
    )
    await using ending = new AsyncDisposableStack()
    ending.defer(async () => void (await rotating.stop()))
    const issued = await issueKeyFor(operator, {
      client: caller.client,
      environment: 'live',
      peppers: parsePeppers(next),
    })
    expect((await caller.ask({}, { baseUrl: rotating.baseUrl })).status).toBe(200)
    expect((await caller.ask({}, { baseUrl: rotating.baseUrl, key: issued.key })).status).toBe(200)
    expect((await caller.ask({}, { key: issued.key })).status).toBe(401)
  })
})

describe('Keys: the audit trail', () => {
  test('issue, rotation and revocation, and each entitlement or plan change, append to it', async () => {
    const caller = await createCaller()
    const rotated = await rotateKey(operator, {
      key: caller.keyId,
      peppers: parsePeppers(service.settings.secrets.KEY_PEPPERS),
    })
    await revokeKeyNow(operator, caller.keyId)
    await setEntitlementActive(operator, caller.entitlement, false)
    await changeEntitlement(operator, caller.entitlement, { languages: ['de'] })
    const about = [`key:${caller.keyId}`, `key:${rotated.id}`, `entitlement:${caller.entitlementId}`]
    const { rows } = await owner.query<{ action: string; actor: string }>(
      'select action, actor from audit where subject = any($1) order by seq',
      [about],
    )
    expect(rows.map(({ action }) => action)).toEqual([
      'entitlement.grant',
      'key.issue',
      'key.rotate',
      'key.revoke',
      'entitlement.deactivate',
      'entitlement.change',
    ])
    expect(new Set(rows.map(({ actor }) => actor))).toEqual(new Set(['test']))
    const plans = await owner.query("select from audit where action = 'plan.create' and detail ->> 'name' = $1", [
      caller.client,
    ])
    expect(plans.rowCount).toBe(1)
  })

  test.each(['audit', 'ledger'])("the services' role can neither change nor delete rows of %s", async (table) => {
    await withClient(service.settings.gatewayDatabaseUrl, async (client) => {
      for (const statement of [
        `update ${table} set ${table === 'audit' ? "actor = 'x'" : 'charged = false'}`,
        `delete from ${table}`,
        `truncate ${table}`,
      ])
        await expect(client.query(statement)).rejects.toThrow(/permission denied/)
    })
  })
})
