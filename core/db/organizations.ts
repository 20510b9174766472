import { z } from 'zod'
import { changesOne, rowOf, rowsOf } from './rows.ts'

const organizationRow = z.object({ id: z.uuid(), name: z.string(), active: z.boolean(), created_at: z.date() })

/**
 * Inserts nothing if the name is taken, so the caller need not interpret a constraint error.
 * @returns false when the
 * name is taken.
 */
export const insertOrganization = changesOne<[id: string, name: string]>`
  insert into organizations (id, name) values ($1, $2) on conflict (name) do nothing`

export const listOrganizations = rowsOf(organizationRow)<[limit: number]>`
  select id, name, active, created_at from organizations order by name limit $1`

/** By UUID in any case, or by exact name; names are never UUIDs. */
export const findOrganization = rowOf(organizationRow)<[nameOrId: string]>`
  select id, name, active, created_at from organizations where id::text = lower($1) or name = $1`

/** @returns false if it already has this state. */
export const setOrganizationActive = changesOne<[id: string, active: boolean]>`
  update organizations set active = $2 where id = $1 and active <> $2`
