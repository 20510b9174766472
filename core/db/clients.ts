import { z } from 'zod'
import type { Queryable } from './pool.ts'
import { readRows, affectsRow } from './rows.ts'

const clientRow = z.object({
  id: z.uuid(),
  organization_id: z.uuid(),
  organization: z.string(),
  name: z.string(),
  active: z.boolean(),
  created_at: z.date(),
})
export type ClientRow = z.infer<typeof clientRow>

const CLIENTS = `
  select c.id, c.organization_id, o.name as organization, c.name, c.active, c.created_at
  from clients c join organizations o on o.id = c.organization_id`

/** Inserts nothing if the organization already has the name. */
const INSERT =
  'insert into clients (id, organization_id, name) values ($1, $2, $3) on conflict (organization_id, name) do nothing'
const LIST = `${CLIENTS} where ($1::uuid is null or c.organization_id = $1) order by o.name, c.name limit $2`
/** By UUID, `organization/client`, or the bare name, which may belong to clients of several organizations. */
const FIND = `${CLIENTS}
  where c.id::text = lower($1) or c.name = $1 or o.name || '/' || c.name = $1 order by o.name limit 2`
const SET_ACTIVE = 'update clients set active = $2 where id = $1 and active <> $2'

/** @returns false if the organization has a client of that name. */
export function insertClient(database: Queryable, id: string, organizationId: string, name: string): Promise<boolean> {
  return affectsRow(database, INSERT, [id, organizationId, name])
}

export function listClients(database: Queryable, organizationId: string | null, limit: number) {
  return readRows(database, clientRow, LIST, [organizationId, limit])
}

/** @returns at most two: more than one means the name is ambiguous. */
export function findClients(database: Queryable, nameOrId: string): Promise<readonly ClientRow[]> {
  return readRows(database, clientRow, FIND, [nameOrId])
}

/** @returns false if it already has this state. */
export function setClientActive(database: Queryable, id: string, active: boolean): Promise<boolean> {
  return affectsRow(database, SET_ACTIVE, [id, active])
}
