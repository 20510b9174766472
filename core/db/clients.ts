import { z } from 'zod'
import { changesOne, rowsOf } from './rows.ts'

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

/**
 * Inserts nothing if the organization already has the name.
 * @returns false if the organization has a client of that
 * name.
 */
export const insertClient = changesOne<[id: string, organizationId: string, name: string]>`
  insert into clients (id, organization_id, name) values ($1, $2, $3) on conflict (organization_id, name) do
  nothing`

export const listClients = rowsOf(clientRow)<[organizationId: string | null, limit: number]>`
  ${CLIENTS} where ($1::uuid is null or c.organization_id = $1) order by o.name, c.name limit $2`

/**
 * By UUID, `organization/client`, or the bare name, which may belong to clients of several organizations.
 * @returns at
 * most two: more than one means the name is ambiguous.
 */
export const findClients = rowsOf(clientRow)<[nameOrId: string]>`
  ${CLIENTS}
    where c.id::text = lower($1) or c.name = $1 or o.name || '/' || c.name = $1 order by o.name limit 2`

/** @returns false if it already has this state. */
export const setClientActive = changesOne<[id: string, active: boolean]>`
  update clients set active = $2 where id = $1 and active <> $2`
