import { z } from 'zod'
import type { Queryable } from './pool.ts'
import { readRows } from './rows.ts'

const epochRow = z.object({
  organization_id: z.uuid(),
  organization: z.string(),
  epoch: z.int(),
  state: z.enum(['current', 'kept', 'erased']),
  created_at: z.date(),
  erased_at: z.date().nullable(),
})

const epochOnly = z.object({ epoch: z.int() })

const ownerRow = z.object({ id: z.uuid(), name: z.string() })
/** An organization that has a key. */
export type FingerprintOwnerRow = z.infer<typeof ownerRow>

const keyRow = z.object({ epoch: z.int(), wrapped: z.instanceof(Buffer) })
export type FingerprintKeyRow = z.infer<typeof keyRow>

const NEWEST_EPOCH = 'select coalesce(max(epoch), 0)::int as epoch from fingerprint_keys where organization_id = $1'
/** Two concurrent rotations would take the same epoch; the primary key refuses the second. */
const INSERT = 'insert into fingerprint_keys (organization_id, epoch, wrapped) values ($1, $2, $3)'
const LIST = `
  select f.organization_id, o.name as organization, f.epoch,
    case when f.wrapped is null then 'erased' when f.epoch = max(f.epoch)
    over (partition by f.organization_id) then 'current' else 'kept' end as state,
    f.created_at, f.erased_at
  from fingerprint_keys f join organizations o on o.id = f.organization_id
  where $1::uuid is null or f.organization_id = $1
  order by o.name, f.epoch desc
  limit $2`
const ERASE = `
  update fingerprint_keys set wrapped = null, erased_at = now()
  where organization_id = $1 and ($2::int is null or epoch = $2) and wrapped is not null
  returning epoch`

/** By id, so that a page begins after the last of the page before it, whatever is created meanwhile. */
const OWNERS = `
  select o.id, o.name from organizations o
  where ($1::uuid is null or o.id = $1) and ($2::uuid is null or o.id > $2)
    and exists (select from fingerprint_keys f where f.organization_id = o.id and f.wrapped is not null)
  order by o.id
  limit $3`
/** Locks the rows, so that a key which is erased meanwhile is not written again. */
const LOCK = `
  select epoch, wrapped from fingerprint_keys
  where organization_id = $1 and epoch > $2 and wrapped is not null
  order by epoch
  limit $3
  for update`
const REPLACE = `
  update fingerprint_keys f set wrapped = n.wrapped
  from unnest($2::int[], $3::bytea[]) as n (epoch, wrapped)
  where f.organization_id = $1 and f.epoch = n.epoch and f.wrapped is not null`

/** Returns 0 if there is none. */
export async function newestFingerprintEpoch(database: Queryable, organizationId: string): Promise<number> {
  return epochOnly.parse((await database.query(NEWEST_EPOCH, [organizationId])).rows[0]).epoch
}

export async function insertFingerprintKey(
  database: Queryable,
  organizationId: string,
  epoch: number,
  wrapped: Buffer,
): Promise<void> {
  await database.query(INSERT, [organizationId, epoch, wrapped])
}

export function listFingerprintEpochs(database: Queryable, organizationId: string | null, limit: number) {
  return readRows(database, epochRow, LIST, [organizationId, limit])
}

/** Erases the wrapped keys of one epoch, or of all. @returns the epochs that this call erased. */
export async function eraseFingerprintKeys(
  database: Queryable,
  organizationId: string,
  epoch: number | null,
): Promise<readonly number[]> {
  const { rows } = await database.query(ERASE, [organizationId, epoch])
  return z
    .array(epochOnly)
    .parse(rows)
    .map((row) => row.epoch)
    .toSorted((a, b) => a - b)
}

/**
 * Organizations that have a key which is not erased, in the order of their ids.
 * @param page `only` one organization, or all of them; those that come `after` an id.
 */
export function listFingerprintOwners(
  database: Queryable,
  page: { readonly only: string | null; readonly after: string | null },
  limit: number,
): Promise<readonly FingerprintOwnerRow[]> {
  return readRows(database, ownerRow, OWNERS, [page.only, page.after, limit])
}

/** Locks wrapped keys of the epochs after the given one until the transaction ends; erased keys are left out. */
export function lockFingerprintKeys(client: Queryable, organizationId: string, afterEpoch: number, limit: number) {
  return readRows(client, keyRow, LOCK, [organizationId, afterEpoch, limit])
}

/** Replaces the wrapped form of keys that this transaction has locked. */
export async function replaceFingerprintKeys(
  client: Queryable,
  organizationId: string,
  keys: readonly FingerprintKeyRow[],
): Promise<void> {
  await client.query(REPLACE, [organizationId, keys.map(({ epoch }) => epoch), keys.map(({ wrapped }) => wrapped)])
}
