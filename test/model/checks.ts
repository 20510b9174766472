import { z } from 'zod'
import type { Candidate } from '#core/limits/admission.ts'
import { monthOf, type KnownRequest } from './oracle.ts'
import { withRedis } from '#test/support/redis.ts'
import type { ModelEntitlement, Servers } from './servers.ts'

/** @throws Error with the guarantee that does not hold. */
export function check(holds: boolean, guarantee: string): void {
  if (!holds) throw new Error(guarantee)
}

const knownRow = z
  .object({
    id: z.string(),
    entitlement_id: z.string(),
    admitted_ms: z.number(),
    deadline_ms: z.number(),
    state: z.enum(['open', 'delivered', 'refunded', 'failed']),
    served: z.array(z.object({ chunk: z.string() })).nullable(),
  })
  .transform((row): KnownRequest => ({
    id: row.id,
    entitlementId: row.entitlement_id,
    admittedAtMs: Math.round(row.admitted_ms),
    deadlineAtMs: Math.round(row.deadline_ms),
    state: row.state,
    served: row.state === 'delivered' ? (row.served ?? []).map(({ chunk }) => chunk) : [],
  }))

export async function known({ owner }: Servers, organizationId: string): Promise<readonly KnownRequest[]> {
  const { rows } = await owner.query(
    `select id, entitlement_id, extract(epoch from admitted_at)::float8 * 1000 as admitted_ms,
       extract(epoch from deadline_at)::float8 * 1000 as deadline_ms, state, served
     from reservations where organization_id = $1 order by deadline_at`,
    [organizationId],
  )
  return z.array(knownRow).parse(rows)
}

export async function isOpen({ owner }: Servers, id: string): Promise<boolean> {
  return (await owner.query("select from reservations where id = $1 and state = 'open'", [id])).rowCount === 1
}

export async function holderOf({ owner }: Servers, candidate: Candidate): Promise<string | undefined> {
  const { rows } = await owner.query<{ id: string }>(
    `select id from reservations where client_id = $1 and idempotency_digest = any($2) and state <> 'refunded'
     and id <> $3`,
    [candidate.clientId, candidate.idempotencyDigests, candidate.id],
  )
  return rows[0]?.id
}

/** Whatever was admitted, no cap was exceeded at its admission. */
export async function checkCaps(
  servers: Servers,
  entitlements: readonly ModelEntitlement[],
  organizationId: string,
  nowMs: number,
): Promise<void> {
  const requests = await known(servers, organizationId)
  for (const { scope, limits } of entitlements) {
    const own = requests.filter(({ entitlementId }) => entitlementId === scope.entitlementId)
    const open = own.filter(({ state, deadlineAtMs }) => state === 'open' && deadlineAtMs > nowMs)
    check(open.length <= limits.concurrency, 'no more requests than the plan allows are open at once')
    for (const { admittedAtMs } of own) {
      const minute = own.filter((one) => one.admittedAtMs > admittedAtMs - 60_000 && one.admittedAtMs <= admittedAtMs)
      check(minute.length <= limits.requests_per_minute, 'no more requests than the plan allows in any 60 s')
    }
    const charged = own.filter(({ state }) => state !== 'refunded').map(({ admittedAtMs }) => new Date(admittedAtMs))
    const most = (periodOf: (date: Date) => string): number =>
      Math.max(0, ...[...Map.groupBy(charged, periodOf).values()].map((dates) => dates.length))
    check(most((date) => date.toISOString().slice(0, 10)) <= limits.requests_per_day, 'no day exceeds its allowance')
    check(most((date) => date.toISOString().slice(0, 7)) <= limits.requests_per_month, 'no month exceeds its allowance')
  }
}

export async function checkLedger({ owner }: Servers, organizationId: string): Promise<void> {
  const { rows } = await owner.query<{ faults: number }>(
    `select count(*)::int as faults from reservations r left join ledger l on l.reservation_id = r.id
     where r.organization_id = $1 and (r.state = 'open' or l.reservation_id is null or l.state <> r.state
       or l.charged <> (r.state in ('delivered', 'failed')))`,
    [organizationId],
  )
  check(rows[0]?.faults === 0, 'every reservation is settled and has one ledger entry that agrees')
}

/** With nothing in doubt, Redis and Postgres count the same. */
export async function checkCounters(servers: Servers, held: ModelEntitlement, nowMs: number): Promise<void> {
  const { scope, limits } = held
  const requests = await known(servers, scope.organizationId)
  const own = requests.filter(({ entitlementId }) => entitlementId === scope.entitlementId)
  const { owner } = servers
  const { rows } = await owner.query<{ epoch: string }>('select epoch from limit_epochs where organization_id = $1', [
    scope.organizationId,
  ])
  const root = `{${scope.organizationId}}:${rows[0]?.epoch}`
  const since = nowMs - limits.exposure.window_days * 86_400_000
  const [counts, minute, leases, exposure] = await withRedis(servers.primary().url, async (client) => [
    await client.hgetall(`${root}:entitlement:${scope.entitlementId}:counts`),
    await client.zrangebyscore(`${root}:entitlement:${scope.entitlementId}:minute`, `(${nowMs - 60_000}`, '+inf'),
    await client.zcard(`${root}:entitlement:${scope.entitlementId}:leases`),
    await client.zrangebyscore(`${root}:exposure:${scope.environment}:${scope.knowledgeBaseId}`, `(${since}`, '+inf'),
  ])
  const charged = own.filter(({ state }) => state !== 'refunded')
  const day = Math.floor(nowMs / 86_400_000)
  const today = charged.filter(({ admittedAtMs }) => Math.floor(admittedAtMs / 86_400_000) === day).length
  check(Number(counts[`d${day}`] ?? 0) === today, `the day's count is ${counts[`d${day}`]}, reservations say ${today}`)
  const date = new Date(nowMs)
  const month = counts[`m${date.getUTCFullYear() * 12 + date.getUTCMonth() + 1}`] ?? 0
  const inMonth = charged.filter((one) => monthOf(one.admittedAtMs) === monthOf(nowMs)).length
  check(Number(month) === inMonth, `the month's count is ${month}, reservations say ${inMonth}`)
  const recent = own.filter(({ admittedAtMs }) => admittedAtMs > nowMs - 60_000).map(({ id }) => id)
  check(same(minute, recent), 'the minute holds the admissions of the last 60 s')
  check(leases === 0, 'no lease is left')
  const served = requests
    .filter(({ state, admittedAtMs }) => state === 'delivered' && admittedAtMs > since)
    .flatMap((request) => request.served)
  check(same(exposure, [...new Set(served)]), 'the exposure holds what was served within the window')
}

function same(one: readonly string[], other: readonly string[]): boolean {
  return one.toSorted().join(' ') === other.toSorted().join(' ')
}
