import { z } from 'zod'
import { planLimitsSchema, type PlanLimits } from '#core/domain/quota-plan.ts'
import type { Queryable } from './pool.ts'
import { readRow, readRows, affectsRow } from './rows.ts'

const planRow = z.object({ id: z.uuid(), name: z.string(), limits: planLimitsSchema, created_at: z.date() })
export type PlanRow = z.infer<typeof planRow>

/** Plans are only inserted; no role but the owner may update or delete one. Inserts nothing if the name is taken. */
const INSERT = 'insert into plans (id, name, limits) values ($1, $2, $3) on conflict (name) do nothing'
const LIST = 'select id, name, limits, created_at from plans order by name limit $1'
const FIND = 'select id, name, limits, created_at from plans where id::text = lower($1) or name = $1'

/** @returns false when the name is taken. */
export function insertPlan(database: Queryable, id: string, name: string, limits: PlanLimits): Promise<boolean> {
  return affectsRow(database, INSERT, [id, name, JSON.stringify(limits)])
}

export function listPlans(database: Queryable, limit: number): Promise<readonly PlanRow[]> {
  return readRows(database, planRow, LIST, [limit])
}

export function findPlan(database: Queryable, nameOrId: string): Promise<PlanRow | undefined> {
  return readRow(database, planRow, FIND, [nameOrId])
}
