import { afterAll, expect, test } from 'vitest'
import { endEpoch } from '#core/db/limit-epochs.ts'
import { admit, type AdmissionDeps } from '#core/limits/admission.ts'
import { entitlementKeys } from '#core/limits/counter-keys.ts'
import { openTestPools } from '#test/support/postgres.ts'
import { createCandidate } from '#test/support/limits.ts'
import { createOrganization, openServers } from '#test/model/servers.ts'
import { withRedis } from '#test/support/redis.ts'

const { database } = await openTestPools()
const servers = await openServers(database)
afterAll(() => servers.close())

const SETTLED_WITHIN_MS = 30_000

test('a request that is charged again under another epoch keeps that charge when the first is undone', async () => {
  const [held] = await createOrganization(servers.owner)
  const [gateway] = servers.gateways
  if (held === undefined || gateway === undefined) throw new Error('there is no entitlement or no gateway')
  const { organizationId, entitlementId } = held.scope
  let inserts = 0
  const deps: AdmissionDeps = {
    ...gateway,
    reservations: {
      insert: async (reservation, epoch) => {
        // Another gateway begins a rebuild between the charge and the reservation: no epoch is in force for a while.
        if (inserts++ === 0) {
          await gateway.counters.retire(organizationId)
          await endEpoch(servers.owner, organizationId)
        }
        return gateway.reservations.insert(reservation, epoch)
      },
    },
  }
  const admission = await admit(deps, createCandidate(held, { corpusPassages: 10 }), (_, work) => work)
  expect(admission.status).toBe('admitted')
  expect(inserts).toBe(2)
  await gateway.settlement.idle(SETTLED_WITHIN_MS)

  const epoch = (await gateway.counters.inForce(organizationId))?.epoch ?? ''
  const keys = entitlementKeys(organizationId, epoch, entitlementId)
  const counted = await withRedis(servers.primary().url, async (client) => ({
    leases: await client.zcard(keys.leases),
    minute: await client.zcard(keys.minute),
    charged: Object.values(await client.hgetall(keys.counts)),
  }))
  expect(counted).toEqual({ leases: 1, minute: 1, charged: ['1', '1'] })
})
