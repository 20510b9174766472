import { z } from 'zod'
import { planLimitsSchema, type PlanLimits } from '#core/domain/quota-plan.ts'
import { changesOne, rowOf, rowsOf } from './rows.ts'

const planRow = z.object({ id: z.uuid(), name: z.string(), limits: planLimitsSchema, created_at: z.date() })

/** Plans are only inserted; no role but the owner may update or delete one. @returns false when the name is taken. */
export const insertPlan = changesOne<[id: string, name: string, limits: PlanLimits]>`
  insert into plans (id, name, limits) values ($1, $2, $3) on conflict (name) do nothing`

export const listPlans = rowsOf(planRow)<[limit: number]>`
  select id, name, limits, created_at from plans order by name limit $1`

export const findPlan = rowOf(planRow)<[nameOrId: string]>`
  select id, name, limits, created_at from plans where id::text = lower($1) or name = $1`
