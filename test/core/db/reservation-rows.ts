import { randomBytes, randomUUID } from 'node:crypto'
import type { Database } from '#core/db/pool.ts'
import type { Delivered, NewReservation } from '#core/db/reservations.ts'
import { failedOutcome } from '#core/limits/settlement.ts'
import { NO_FILTERS, NO_REPLAY } from '#test/support/limits.ts'

export const EPOCH = { id: randomUUID(), redisRunId: 'a-redis' }

/** Enough for every statement of a test. */
const WITHIN_MS = 60_000

/** An organization whose counters are of `EPOCH`. @returns its id. */
export async function createOrganization(owner: Database): Promise<string> {
  const id = randomUUID()
  await owner.query('insert into organizations (id, name) values ($1, $2)', [id, id])
  await owner.query('insert into limit_epochs (organization_id, epoch, redis_run_id) values ($1, $2, $3)', [
    id,
    EPOCH.id,
    EPOCH.redisRunId,
  ])
  return id
}

/** A reservation of a client of its own. */
export function createReservation(organizationId: string, fields: Partial<NewReservation> = {}): NewReservation {
  const id = randomUUID()
  const ids = {
    clientId: id,
    apiKeyId: id,
    entitlementId: id,
    planId: id,
    knowledgeBaseId: id,
    versionId: id,
    projection: '00'.repeat(32),
  }
  const times = { admittedAtMs: Date.now(), deadlineAtMs: Date.now() + 20_000, inForceOn: '2026-11-21' }
  return {
    id,
    traceId: id,
    organizationId,
    environment: 'live',
    idempotencyDigests: [],
    fingerprint: randomBytes(32),
    fingerprintEpoch: 3,
    requestDigest: undefined,
    filters: NO_FILTERS,
    entitled: NO_FILTERS,
    ...ids,
    ...times,
    ...fields,
  }
}

export function createDelivered(id: string, chunk: string, withinMs = WITHIN_MS): Delivered {
  return {
    id,
    outcome: { ...failedOutcome(null, 5, null), decision: 'answer', chunk_ids: [chunk] },
    served: [],
    replay: NO_REPLAY,
    withinMs,
  }
}
