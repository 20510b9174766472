import { z } from 'zod'
import type { Queryable } from './pool.ts'
import { batches, execute, rowsOf, valueOf, valuesOf } from './rows.ts'

const epochRow = z.object({
  organization_id: z.uuid(),
  organization: z.string(),
  epoch: z.int(),
  state: z.enum(['current', 'kept', 'erased']),
  created_at: z.date(),
  erased_at: z.date().nullable(),
})

const ownerRow = z.object({ id: z.uuid(), name: z.string() })
export type FingerprintOwnerRow = z.infer<typeof ownerRow>

const keyRow = z.object({ epoch: z.int(), wrapped: z.instanceof(Buffer) })

/** Returns 0 if there is none. */
export const newestFingerprintEpoch = valueOf(z.int())<[organizationId: string]>`
  select coalesce(max(epoch), 0)::int from fingerprint_keys where organization_id = $1`

/** Two concurrent rotations would take the same epoch; the primary key refuses the second. */
export const insertFingerprintKey = execute<[organizationId: string, epoch: number, wrapped: Buffer]>`
  insert into fingerprint_keys (organization_id, epoch, wrapped) values ($1, $2, $3)`

export const listFingerprintEpochs = rowsOf(epochRow)<[organizationId: string | null, limit: number]>`
  select f.organization_id, o.name as organization, f.epoch,
    case when f.wrapped is null then 'erased' when f.epoch = max(f.epoch)
    over (partition by f.organization_id) then 'current' else 'kept' end as state,
    f.created_at, f.erased_at
  from fingerprint_keys f join organizations o on o.id = f.organization_id
  where $1::uuid is null or f.organization_id = $1
  order by o.name, f.epoch desc
  limit $2`

/** Erases the wrapped keys of one epoch, or of all. @returns the epochs that this call erased. */
export const eraseFingerprintKeys = valuesOf(z.int())<[organizationId: string, epoch: number | null]>`
  with erased as (
    update fingerprint_keys set wrapped = null, erased_at = now()
    where organization_id = $1 and ($2::int is null or epoch = $2) and wrapped is not null
    returning epoch
  )
  select epoch from erased order by epoch`

const readOwners = rowsOf(ownerRow)<[only: string | null, after: string | null, limit: number]>`
  select o.id, o.name from organizations o
  where ($1::uuid is null or o.id = $1) and ($2::uuid is null or o.id > $2)
    and exists (select from fingerprint_keys f where f.organization_id = o.id and f.wrapped is not null)
  order by o.id
  limit $3`

/** Organizations that have a key which is not erased, in batches. @param only one organization; null: all. */
export const fingerprintOwners = (database: Queryable, only: string | null, max: number) =>
  batches(
    max,
    (owner) => owner.id,
    (after: string | null) => readOwners(database, only, after, max),
  )

/**
 * Locks the rows, so that a key which is erased meanwhile is not written again. Locks wrapped keys of the epochs after
 * the given one until the transaction ends; erased keys are left out.
 */
export const lockFingerprintKeys = rowsOf(keyRow)<[organizationId: string, afterEpoch: number, limit: number]>`
  select epoch, wrapped from fingerprint_keys
  where organization_id = $1 and epoch > $2 and wrapped is not null
  order by epoch
  limit $3
  for update`

/** Replaces the wrapped form of keys that this transaction has locked. */
export const replaceFingerprintKeys = execute<
  [organizationId: string, epochs: readonly number[], wrapped: readonly Buffer[]]
>`
  update fingerprint_keys f set wrapped = n.wrapped
  from unnest($2::int[], $3::bytea[]) as n (epoch, wrapped)
  where f.organization_id = $1 and f.epoch = n.epoch and f.wrapped is not null`
