import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { moveEpoch } from '#core/db/limit-epochs.ts'
import { openDatabase } from '#core/db/pool.ts'
import type { Database } from '#core/db/pool.ts'
import { createReservationWriter } from '#core/db/reservation-writer.ts'
import type { ReservationWriter } from '#core/db/reservation-writer.ts'
import type { NewReservation } from '#core/db/reservations.ts'
import { createLog } from '#core/platform/log.ts'
import { openTestDatabase } from '#test/support/database.ts'
import type { TestDatabase } from '#test/support/database.ts'
import { EPOCH, createDelivered, createOrganization, createReservation } from '#test/support/limits/reservation-rows.ts'
import { until } from '#test/support/until.ts'

const silent = createLog('test', 'silent')

let database: TestDatabase
let owner: Database
let service: Database
let writer: ReservationWriter
let organizationId: string
/** Is reserved. */
let first: NewReservation

beforeAll(async () => {
  database = await openTestDatabase()
  owner = openDatabase(database.ownerUrl, silent, 4)
  service = openDatabase(database.gatewayUrl, silent, 4)
  writer = createReservationWriter(service)
})
beforeEach(async () => {
  organizationId = await createOrganization(owner)
  first = createReservation(organizationId)
  await writer.insert(first, EPOCH)
})
afterAll(async () => {
  await Promise.all([owner.end(), service.end()])
  await database.drop()
})

test('reservations and outcomes of requests that are under way together share one commit', async () => {
  const second = createReservation(organizationId)
  const written = await Promise.all([
    writer.insert(second, EPOCH),
    writer.recordDelivered(createDelivered(first.id, 'x')),
  ])
  expect(written).toEqual([{ status: 'inserted' }, true])
  const { rows } = await owner.query('select distinct xmin::text from reservations where organization_id = $1', [
    organizationId,
  ])
  expect(rows).toHaveLength(1)
})

test('an outcome is recorded though a reservation beside it fails', async () => {
  const [refused, recorded] = await Promise.allSettled([
    writer.insert(createReservation(organizationId, { inForceOn: 'no day' }), EPOCH),
    writer.recordDelivered(createDelivered(first.id, 'x')),
  ])
  expect(refused.status).toBe('rejected')
  expect(recorded).toEqual({ status: 'fulfilled', value: true })
})

test('the epoch of an organization can be moved while an outcome waits for its row', async () => {
  const client = await owner.connect()
  try {
    await client.query('begin')
    await client.query('select from reservations where id = $1 for update', [first.id])
    const written = Promise.all([
      writer.insert(createReservation(organizationId), EPOCH),
      writer.recordDelivered(createDelivered(first.id, 'x')),
    ])
    await until('the outcome waits', async () => {
      const { rowCount } = await owner.query(
        "select from pg_stat_activity where wait_event_type = 'Lock' and query ~ 'record_deliveries'",
      )
      return rowCount === 1
    })
    await moveEpoch(service, organizationId, 'a-redis')
    await client.query('commit')
    expect(await written).toEqual([{ status: 'epoch' }, true])
  } finally {
    await client.query('rollback')
    client.release()
  }
})
