import { randomBytes, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { BOUNDS } from '#core/platform/bounds.ts'
import { openDatabase } from '#core/db/pool.ts'
import type { Database } from '#core/db/pool.ts'
import { createReservationWriter } from '#core/db/reservation-writer.ts'
import type { ReservationWriter } from '#core/db/reservation-writer.ts'
import type { NewReservation, Outcome } from '#core/db/reservations.ts'
import { undelivered } from '#core/limits/refund.ts'
import { createLog } from '#core/platform/log.ts'
import { openTestDatabase } from '#test/support/database.ts'
import type { TestDatabase } from '#test/support/database.ts'

/** More than go into one statement, so that several run side by side. */
const MANY = BOUNDS.reservationBatchMax * 3
const EPOCH = 7
const silent = createLog('test', 'silent')

let database: TestDatabase
let owner: Database
let service: Database
let writer: ReservationWriter
let organizationId: string

beforeAll(async () => {
  database = await openTestDatabase()
  owner = openDatabase(database.ownerUrl, silent, 4)
  service = openDatabase(database.gatewayUrl, silent, 4)
  writer = createReservationWriter(service)
})
beforeEach(async () => {
  organizationId = randomUUID()
  await owner.query('insert into organizations (id, name) values ($1, $2)', [organizationId, organizationId])
  await owner.query('insert into limit_epochs (organization_id, epoch) values ($1, $2)', [organizationId, EPOCH])
})
afterAll(async () => {
  await Promise.all([owner.end(), service.end()])
  await database.drop()
})

function reservationWith(fields: Partial<NewReservation> = {}): NewReservation {
  const id = randomUUID()
  const ids = {
    clientId: id,
    apiKeyId: id,
    entitlementId: id,
    planId: id,
    knowledgeBaseId: id,
    versionId: id,
    profileId: id,
  }
  const times = { admittedAtMs: Date.now(), deadlineAtMs: Date.now() + 20_000, inForceOn: '2026-11-21' }
  return {
    id,
    traceId: id,
    organizationId,
    environment: 'live',
    idempotencyDigest: null,
    fingerprint: randomBytes(32),
    fingerprintEpoch: 3,
    ...ids,
    ...times,
    ...fields,
  }
}

function outcomeOf(id: string): Outcome {
  return { ...undelivered(null, 5), decision: 'answer', chunk_ids: [id] }
}

test('inserts every reservation as it was given, however many are under way together', async () => {
  const reservations = Array.from({ length: MANY }, (_, n) =>
    reservationWith(n % 2 === 0 ? {} : { idempotencyDigest: randomBytes(32) }),
  )
  const inserted = await Promise.all(reservations.map((reservation) => writer.insert(reservation, EPOCH)))
  expect(new Set(inserted.map(({ status }) => status))).toEqual(new Set(['inserted']))
  const { rows } = await owner.query(
    `select id, client_id, idempotency_digest, fingerprint, fingerprint_epoch,
       extract(epoch from admitted_at)::float8 * 1000 as admitted_ms, in_force_on::text, state
     from reservations where organization_id = $1 order by id`,
    [organizationId],
  )
  const wanted = reservations.map((r) => ({
    id: r.id,
    client_id: r.clientId,
    idempotency_digest: r.idempotencyDigest,
    fingerprint: r.fingerprint,
    fingerprint_epoch: 3,
    admitted_ms: r.admittedAtMs,
    in_force_on: '2026-11-21',
    state: 'open',
  }))
  expect(rows).toEqual(wanted.sort((a, b) => (a.id < b.id ? -1 : 1)))
})

test('admits one of many requests with the same idempotency key and names it to the others', async () => {
  const same = { clientId: randomUUID(), idempotencyDigest: randomBytes(32) }
  const reservations = Array.from({ length: MANY }, () => reservationWith(same))
  const inserted = await Promise.all(reservations.map((reservation) => writer.insert(reservation, EPOCH)))
  const first = reservations.find((_, n) => inserted[n]?.status === 'inserted')
  expect(inserted.filter(({ status }) => status === 'inserted')).toHaveLength(1)
  expect(inserted.filter(({ status }) => status !== 'inserted')).toEqual(
    Array.from({ length: MANY - 1 }, () => ({ status: 'conflict', originalRequestId: first?.id })),
  )
})

test(
  'refuses a reservation of another epoch, or of an organization whose counters are being rebuilt, and ' +
    'not those beside it',
  async () => {
    const rebuilding = randomUUID()
    await owner.query('insert into organizations (id, name) values ($1, $2)', [rebuilding, rebuilding])
    await owner.query('insert into limit_epochs (organization_id, epoch) values ($1, $2)', [rebuilding, EPOCH])
    const client = await owner.connect()
    try {
      await client.query('begin')
      await client.query('select pg_advisory_xact_lock(hashtextextended($1::text, 0))', [rebuilding])
      const outcomes = await Promise.all([
        writer.insert(reservationWith(), EPOCH),
        writer.insert(reservationWith(), EPOCH - 1),
        writer.insert(reservationWith({ organizationId: rebuilding }), EPOCH),
        writer.insert(reservationWith(), EPOCH),
      ])
      expect(outcomes.map(({ status }) => status)).toEqual(['inserted', 'epoch', 'epoch', 'inserted'])
    } finally {
      await client.query('rollback')
      client.release()
    }
  },
)

test('records every outcome once, only on its own open reservation; the same outcome may be repeated', async () => {
  const reservations = Array.from({ length: MANY }, () => reservationWith())
  await Promise.all(reservations.map((reservation) => writer.insert(reservation, EPOCH)))
  const ids = reservations.map(({ id }) => id)
  const [refunded = ''] = ids
  await owner.query(`update reservations set state = 'refunded', finished_at = now() where id = $1`, [refunded])
  const recordAll = (): Promise<readonly boolean[]> =>
    Promise.all(ids.map((id) => writer.recordDelivered(id, outcomeOf(id), [])))
  const wanted = ids.map((id) => id !== refunded)
  expect(await recordAll()).toEqual(wanted)
  expect(await recordAll()).toEqual(wanted)
  expect(await Promise.all(ids.map((id) => writer.recordDelivered(id, outcomeOf('another'), [])))).toEqual(
    ids.map(() => false),
  )
  const { rows } = await owner.query(
    'select count(*)::int as delivered from reservations where organization_id = $1 and state = ' +
      `'delivered' and outcome -> 'chunk_ids' ->> 0 = id::text`,
    [organizationId],
  )
  expect(rows).toEqual([{ delivered: MANY - 1 }])
})
