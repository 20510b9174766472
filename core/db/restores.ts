import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { z } from 'zod'
import { auditHeadSchema, type AuditHead } from './audit.ts'
import { endEveryEpoch } from './limit-epochs.ts'
import type { Queryable } from './pool.ts'
import { execute, rowsOf } from './rows.ts'

/** What is known outside of Postgres to be committed in it; Postgres lacks it only after a restore. */
export interface Confirmed {
  /** `ms`: its admission by the clock of Redis. */
  readonly reservation?: { readonly id: string; readonly ms: number }
  readonly audit?: AuditHead
}

export function newestOf(all: readonly Confirmed[]): Confirmed {
  return all.reduce((newest, { reservation, audit }) => ({
    ...newest,
    ...(reservation !== undefined && reservation.ms > (newest.reservation?.ms ?? 0) ? { reservation } : {}),
    ...(audit !== undefined && audit.seq > (newest.audit?.seq ?? 0) ? { audit } : {}),
  }))
}

/** Postgres lacks what was confirmed, so it was restored to an earlier state that nobody has accepted. */
export class RestoredError extends Error {
  override readonly name = 'RestoredError'
  constructor() {
    super('restored: Postgres lacks what was committed; see "operator restore accept"')
  }
}

export function isRestored(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === 'EV001'
}

const refuse = execute<[confirmed: object]>`select refuse_restored($1::jsonb)`

/** @returns whether Postgres lacks what was confirmed, and no operator has accepted that. */
export async function lacks(database: Queryable, { reservation, audit }: Confirmed): Promise<boolean> {
  try {
    await refuse(database, { ...reservation, ...audit })
    return false
  } catch (error) {
    if (isRestored(error)) return true
    throw error
  }
}

export const copiedSchema = auditHeadSchema.extend({ at: z.coerce.date(), action: z.string(), subject: z.string() })
/** An audit entry as it is kept beside Postgres. */
export type CopiedEntry = z.infer<typeof copiedSchema>

/** The newest entries after a number, oldest first. */
export const auditAfter = rowsOf(copiedSchema)<[seq: number, limit: number]>`
  select * from (
    select seq::float8 as seq, encode(hash, 'hex') as hash, at, action, subject from audit
    where audit.seq > $1 order by audit.seq desc limit $2
  ) as newest order by seq`

const accept = execute<[id: string, untilMs: number]>`insert into restores (id, confirmed_until_ms) values ($1, $2)`

/** Accepts that reservations until `untilMs` are missing, and ends the epoch of every organization. */
export async function insertRestore(client: Queryable, untilMs: number): Promise<string> {
  const id = randomUUID()
  await accept(client, id, untilMs)
  await endEveryEpoch(client)
  return id
}

const chargedSchema = z.object({
  id: z.uuid(),
  organization_id: z.uuid(),
  organization: z.string(),
  client: z.string(),
  environment: z.string(),
  knowledge_base: z.string(),
  charged: z.number(),
})

/** Charged requests by entitlement since the start of a month, as the counters in Redis count them. */
export const chargedSince = rowsOf(chargedSchema)<[month: Date]>`
  select e.id, c.organization_id, o.name as organization, c.name as client, e.environment, k.slug as knowledge_base, (
    select count(*)::float8 from reservations as r
    where r.entitlement_id = e.id and r.state <> 'refunded' and r.admitted_at >= $1) as charged
  from entitlements as e join clients as c on c.id = e.client_id join organizations as o on o.id = c.organization_id
  join knowledge_bases as k on k.id = e.knowledge_base_id order by o.name, c.name, k.slug, e.environment`
