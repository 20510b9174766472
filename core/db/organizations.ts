import { z } from 'zod'
import type { Queryable } from './pool.ts'
import { readRow, readRows, affectsRow } from './rows.ts'

const organizationRow = z.object({ id: z.uuid(), name: z.string(), active: z.boolean(), created_at: z.date() })
export type OrganizationRow = z.infer<typeof organizationRow>

/** Inserts nothing if the name is taken, so the caller need not interpret a constraint error. */
const INSERT = 'insert into organizations (id, name) values ($1, $2) on conflict (name) do nothing'
const LIST = 'select id, name, active, created_at from organizations order by name limit $1'
/** By UUID in any case, or by exact name; names are never UUIDs. */
const FIND = 'select id, name, active, created_at from organizations where id::text = lower($1) or name = $1'
const SET_ACTIVE = 'update organizations set active = $2 where id = $1 and active <> $2'

/** @returns false when the name is taken. */
export function insertOrganization(database: Queryable, id: string, name: string): Promise<boolean> {
  return affectsRow(database, INSERT, [id, name])
}

export function listOrganizations(database: Queryable, limit: number): Promise<readonly OrganizationRow[]> {
  return readRows(database, organizationRow, LIST, [limit])
}

export function findOrganization(database: Queryable, nameOrId: string): Promise<OrganizationRow | undefined> {
  return readRow(database, organizationRow, FIND, [nameOrId])
}

/** @returns false if it already has this state. */
export function setOrganizationActive(database: Queryable, id: string, active: boolean): Promise<boolean> {
  return affectsRow(database, SET_ACTIVE, [id, active])
}
