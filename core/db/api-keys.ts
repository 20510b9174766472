import { z } from 'zod'
import { changesOne, rowsOf, valueOf } from './rows.ts'

const keyRow = z.object({
  id: z.uuid(),
  prefix: z.string(),
  organization: z.string(),
  client_id: z.uuid(),
  client: z.string(),
  environment: z.enum(['test', 'live']),
  scopes: z.array(z.string()),
  pepper: z.string(),
  state: z.enum(['valid', 'suspended', 'expired', 'revoked']),
  created_at: z.date(),
  expires_at: z.date(),
  revoked_at: z.date().nullable(),
})
/** A key as lists show it, without its digest. */
export type KeyRow = z.infer<typeof keyRow>

const keys = (column = '', joined = ''): string => `
  select y.id, y.prefix, o.name as organization, y.client_id, c.name as client, y.environment, y.scopes, y.pepper,
    case when y.revoked_at is not null then 'revoked' when y.expires_at <= now() then 'expired'
    when c.active and o.active then 'valid' else 'suspended' end as state,
    y.created_at, y.expires_at, y.revoked_at${column}
  from api_keys y join clients c on c.id = y.client_id join organizations o on o.id = c.organization_id ${joined}`

/** Only the clock of the database determines when a key expires. @returns that time. */
export const insertKey = valueOf(z.date()).named<
  Pick<KeyRow, 'id' | 'client_id' | 'environment' | 'pepper' | 'prefix'> & {
    readonly digest: Buffer
    readonly scopes: readonly string[]
    readonly lifetimeSeconds: number
  }
>`
  insert into api_keys (id, client_id, environment, digest, pepper, prefix, scopes, expires_at)
  values (:id, :client_id, :environment, :digest, :pepper, :prefix, :scopes,
    now() + make_interval(secs => :lifetimeSeconds))
  returning expires_at`

/** By the index on organization and admission, no further back than it is read quickly. */
const LAST_USED = `
  select r.admitted_at as last_used_at from reservations r
  where r.organization_id = c.organization_id and r.api_key_id = y.id and r.admitted_at > now() - interval '90 days'
  order by r.admitted_at desc limit 1`

const listedRow = keyRow.extend({ last_used_at: z.date().nullable() })

/** With the last admission of each within 90 days. */
export const listKeys = rowsOf(listedRow)<[clientId: string | null, limit: number]>`
  ${keys(', u.last_used_at', `left join lateral (${LAST_USED}) u on true`)}
  where ($1::uuid is null or y.client_id = $1) order by o.name, c.name, y.created_at desc limit $2`

/**
 * By UUID or display prefix, which is short and may belong to several keys.
 * @returns at most two: more than one means the prefix is ambiguous.
 */
export const findKeys = rowsOf(keyRow)<[prefixOrId: string]>`
  ${keys()} where y.id::text = lower($1) or y.prefix = $1 limit 2`

/** Expires a key in `seconds`, or earlier if it expires earlier anyway. @returns the time of expiry. */
export const expireKey = valueOf(z.date())<[id: string, seconds: number]>`
  update api_keys set expires_at = least(expires_at, now() + make_interval(secs => $2)) where id = $1
  returning expires_at`

/** @returns false if it is already revoked. */
export const revokeKey = changesOne<[id: string]>`
  update api_keys set revoked_at = now() where id = $1 and revoked_at is null`
