import { DATABASE_BOUNDS } from '#core/db/bounds.ts'
import { randomBytes, randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import { moveEpoch, type LimitEpoch } from '#core/db/limit-epochs.ts'
import type { AuditHead } from '#core/db/audit.ts'
import { openDatabase } from '#core/db/pool.ts'
import type { Confirmed } from '#core/db/restores.ts'
import { createReservationWriter } from '#core/db/reservation-writer.ts'
import { recordDelivered, type NewReservation } from '#core/db/reservations.ts'
import { NO_REPLAY, insertReservations } from '#test/support/limits.ts'
import { EPOCH, createDelivered, createOrganization, createReservation } from './reservation-rows.ts'
import { createLog } from '#core/platform/log.ts'
import { openTestDatabase, openTestPools, withoutGuards } from '#test/support/postgres.ts'
import { CALL_TIMEOUT_MS, until } from '#test/support/until.ts'

/** More than go into one statement, so that several run side by side. */
const MANY = DATABASE_BOUNDS.reservationBatchMax * 3
const silent = createLog('test', 'silent')

const { owner, gateway: service } = await openTestPools()
const writer = createReservationWriter(service)
let organizationId: string

beforeEach(async () => {
  organizationId = await createOrganization(owner)
})

function reservationWith(fields: Partial<NewReservation> = {}): NewReservation {
  return createReservation(organizationId, fields)
}

test('inserts every reservation as it was given, however many are under way together', async () => {
  const reservations = Array.from({ length: MANY }, (_, n) =>
    reservationWith(n % 2 === 0 ? {} : { idempotencyDigests: [randomBytes(32)] }),
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
    idempotency_digest: r.idempotencyDigests[0] ?? null,
    fingerprint: r.fingerprint,
    fingerprint_epoch: 3,
    admitted_ms: r.admittedAtMs,
    in_force_on: '2026-11-21',
    state: 'open',
  }))
  expect(rows).toEqual(wanted.sort((a, b) => (a.id < b.id ? -1 : 1)))
})

test('admits one of many requests with the same idempotency key and names it to the others', async () => {
  const same = { clientId: randomUUID(), idempotencyDigests: [randomBytes(32)] }
  const reservations = Array.from({ length: MANY }, () => reservationWith(same))
  const inserted = await Promise.all(reservations.map((reservation) => writer.insert(reservation, EPOCH)))
  const first = reservations.find((_, n) => inserted[n]?.status === 'inserted')
  expect(inserted.filter(({ status }) => status === 'inserted')).toHaveLength(1)
  expect(inserted.filter(({ status }) => status !== 'inserted')).toEqual(
    Array.from({ length: MANY - 1 }, () => ({
      status: 'conflict',
      original: expect.objectContaining({ id: first?.id }),
    })),
  )
})

test('refuses while Postgres lacks what is known to be committed, unless that was accepted', async () => {
  const [audit] = (
    await owner.query<AuditHead>(`insert into audit (actor, action, subject) values ('a', 'a.b', 'c:d')
      returning seq::float8 as seq, encode(hash, 'hex') as hash`)
  ).rows
  const statusOf = async (known: Confirmed, by = createReservationWriter(service)): Promise<string> =>
    (await by.insert(reservationWith(), EPOCH, known)).status
  const [id, ms] = [randomUUID(), 1_000]
  expect(await statusOf({ reservation: { id, ms } })).toBe('restored')
  expect(await statusOf({ audit: { seq: 1, hash: '00'.repeat(32) } })).toBe('restored')
  expect(await statusOf({ audit: { seq: 99, hash: audit?.hash ?? '' } })).toBe('restored')
  const there = reservationWith({ id, admittedAtMs: ms })
  expect(
    (await createReservationWriter(service).insert(there, EPOCH, audit === undefined ? {} : { audit })).status,
  ).toBe('inserted')
  expect(await statusOf({ reservation: { id, ms }, ...(audit && { audit }) })).toBe('inserted')
  // A writer knows what it committed itself.
  const [other, own] = [createReservationWriter(service), reservationWith({ admittedAtMs: 2_000 })]
  expect((await other.insert(own, EPOCH)).status).toBe('inserted')
  await withoutGuards(owner, 'delete from reservations where id = $1', [own.id])
  expect([await statusOf({}, other), await statusOf({})]).toEqual(['restored', 'inserted'])
  await owner.query('insert into restores (id, confirmed_until_ms) values ($1, 2000)', [randomUUID()])
  expect(await statusOf({}, other)).toBe('inserted')
})

test(
  'refuses a reservation of another epoch, or of an organization whose counters are being rebuilt, and ' +
    'not those beside it',
  async () => {
    const rebuilding = await createOrganization(owner)
    const client = await owner.connect()
    await using ending = new AsyncDisposableStack()
    ending.defer(async () => client.release())
    ending.defer(async () => void (await client.query('rollback')))
    await client.query('begin')
    await client.query('select pg_advisory_xact_lock(hashtextextended($1::text, 0))', [rebuilding])
    const outcomes = await Promise.all([
      writer.insert(reservationWith(), EPOCH),
      writer.insert(reservationWith(), { ...EPOCH, id: randomUUID() }),
      writer.insert(reservationWith(), { ...EPOCH, redisRunId: 'another-redis' }),
      writer.insert(reservationWith({ organizationId: rebuilding }), EPOCH),
      writer.insert(reservationWith(), EPOCH),
    ])
    expect(outcomes.map(({ status }) => status)).toEqual(['inserted', 'epoch', 'epoch', 'epoch', 'inserted'])
  },
)

test('records every outcome once, only on its own open reservation; the same outcome may be repeated', async () => {
  const reservations = Array.from({ length: MANY }, () => reservationWith())
  await Promise.all(reservations.map((reservation) => writer.insert(reservation, EPOCH)))
  const ids = reservations.map(({ id }) => id)
  const [refunded = ''] = ids
  await owner.query(`update reservations set state = 'refunded', finished_at = now(), outcome = '{}' where id = $1`, [
    refunded,
  ])
  const recordAll = (): Promise<readonly boolean[]> =>
    Promise.all(ids.map((id) => writer.recordDelivered(createDelivered(id, id))))
  const wanted = ids.map((id) => id !== refunded)
  expect(await recordAll()).toEqual(wanted)
  expect(await recordAll()).toEqual(wanted)
  expect(await Promise.all(ids.map((id) => writer.recordDelivered(createDelivered(id, 'another'))))).toEqual(
    ids.map(() => false),
  )
  const { rows } = await owner.query(
    'select count(*)::int as delivered from reservations where organization_id = $1 and state = ' +
      `'delivered' and outcome -> 'chunk_ids' ->> 0 = id::text`,
    [organizationId],
  )
  expect(rows).toEqual([{ delivered: MANY - 1 }])
})

test('an outcome that arrives after its time is not recorded, alone or together with others', async () => {
  const [late, ...inTime] = Array.from({ length: 3 }, () => reservationWith())
  await Promise.all([late, ...inTime].map((one) => writer.insert(one ?? reservationWith(), EPOCH)))
  expect(await writer.recordDelivered(createDelivered(late?.id ?? '', 'late', 0))).toBe(false)
  const ids = [late?.id ?? '', ...inTime.map(({ id }) => id)]
  const recorded = await Promise.all(
    ids.map((id, n) => writer.recordDelivered(createDelivered(id, 'x', n === 0 ? 0 : 60_000))),
  )
  expect(recorded).toEqual([false, true, true])
})

test('what twenty passages leave is stored in the row of the reservation, as it is', async () => {
  const reservation = reservationWith()
  await writer.insert(reservation, EPOCH)
  const served = Array.from({ length: 20 }, () => ({
    chunk: `chk_${randomBytes(20).toString('hex')}`,
    document: randomUUID(),
    total: 20,
  }))
  const replay = { ...NO_REPLAY, passage_sha256: served.map(() => randomBytes(32).toString('hex')) }
  const delivered = { ...createDelivered(reservation.id, ''), served, replay }
  expect(await writer.recordDelivered(delivered)).toBe(true)
  const { rows } = await owner.query(
    `select pg_column_compression(served) as served, pg_column_compression(replay) as replay,
       pg_column_size(served) > 2000 as is_large, pg_column_toast_chunk_id(served) as elsewhere
     from reservations where id = $1`,
    [reservation.id],
  )
  expect(rows).toEqual([{ served: null, replay: null, is_large: true, elsewhere: null }])
})

test('outcomes are found by their key, also under a plan from the time of an almost empty table', async () => {
  const own = await openTestDatabase()
  const admin = openDatabase(own.ownerUrl, silent, 1, CALL_TIMEOUT_MS)
  const gateway = openDatabase(own.gatewayUrl, silent, 1, CALL_TIMEOUT_MS)
  const record = (ids: readonly string[]): Promise<unknown> =>
    recordDelivered(
      gateway,
      ids.map((id) => createDelivered(id, 'x')),
    )
  const reads = async (): Promise<number> => {
    await Promise.all([admin, gateway].map((each) => each.query('select pg_stat_force_next_flush()')))
    const { rows } = await admin.query<{ rows: string }>(
      `select seq_tup_read + (
         select sum(idx_tup_read) from pg_stat_user_indexes where relname = 'reservations') as rows
       from pg_stat_user_tables where relname = 'reservations'`,
    )
    return Number(rows[0]?.rows)
  }
  await using ending = new AsyncDisposableStack()
  ending.defer(() => own.drop())
  ending.defer(async () => void (await Promise.all([admin.end(), gateway.end()])))
  const few = await insertReservations(admin, 10, { state: 'open' })
  await admin.query('analyze reservations')
  for (const id of few) await record([id, randomUUID()])
  const ids = await insertReservations(admin, 2_000, { state: 'open' })
  const before = await reads()
  for (const id of ids.slice(0, 20)) await record([id, randomUUID()])
  expect((await reads()) - before).toBeLessThan(1_000)
})

test('a key used under either of two service secrets conflicts, whichever order a gateway has them in', async () => {
  const clientId = randomUUID()
  const [first, second] = [randomBytes(32), randomBytes(32)]
  const orders = Array.from({ length: 40 }, (_, n) => (n % 2 === 0 ? [first, second] : [second, first]))
  // Each writer commits its own batches, as gateways do.
  const writers = [writer, createReservationWriter(service)]
  const inserted = await Promise.all(
    orders.map((idempotencyDigests, n) => {
      return (writers[n % 2] ?? writer).insert(reservationWith({ clientId, idempotencyDigests }), EPOCH)
    }),
  )
  expect(inserted.filter(({ status }) => status === 'inserted')).toHaveLength(1)
  expect(inserted.filter(({ status }) => status === 'conflict')).toHaveLength(39)
})

test('no reservation is written under an epoch that was moved before its lock was granted', async () => {
  const pause = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
  let epoch: LimitEpoch = EPOCH
  const stop = new AbortController()
  const writing = Promise.all(
    Array.from({ length: 8 }, async () => {
      while (!stop.signal.aborted) {
        await writer.insert(reservationWith(), epoch)
        await pause()
      }
    }),
  )
  const slipped: number[] = []
  for (let raise = 0; raise < 60; raise++) {
    const moved = await moveEpoch(service, organizationId, 'a-redis')
    const count = async (): Promise<number> =>
      (await owner.query('select from reservations where organization_id = $1', [organizationId])).rowCount ?? 0
    const before = await count()
    // Whatever is under way names the old epoch.
    for (let turn = 0; turn < 20; turn++) await pause()
    await owner.query('select pg_sleep(0.005)')
    slipped.push((await count()) - before)
    epoch = moved
    await owner.query('select pg_sleep(0.005)')
  }
  stop.abort()
  await writing
  expect(slipped).toEqual(slipped.map(() => 0))
})

describe('beside the outcome of a request that is reserved', () => {
  let first: NewReservation
  beforeEach(async () => {
    first = reservationWith()
    await writer.insert(first, EPOCH)
  })

  test('reservations and outcomes of requests that are under way together share one commit', async () => {
    const second = reservationWith()
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
      writer.insert(reservationWith({ inForceOn: 'no day' }), EPOCH),
      writer.recordDelivered(createDelivered(first.id, 'x')),
    ])
    expect(refused.status).toBe('rejected')
    expect(recorded).toEqual({ status: 'fulfilled', value: true })
  })

  test('the epoch of an organization can be moved while an outcome waits for its row', async () => {
    const client = await owner.connect()
    await using ending = new AsyncDisposableStack()
    ending.defer(async () => client.release())
    ending.defer(async () => void (await client.query('rollback')))
    await client.query('begin')
    await client.query('select from reservations where id = $1 for update', [first.id])
    const written = Promise.all([
      writer.insert(reservationWith(), EPOCH),
      writer.recordDelivered(createDelivered(first.id, 'x')),
    ])
    await until('the outcome waits', async () => {
      const { rowCount } = await owner.query(
        'select from pg_stat_activity where datname = current_database() and ' +
          "wait_event_type = 'Lock' and query ~ 'record_deliveries'",
      )
      return rowCount === 1
    })
    await moveEpoch(service, organizationId, 'a-redis')
    await client.query('commit')
    expect(await written).toEqual([{ status: 'epoch' }, true])
  })
})
