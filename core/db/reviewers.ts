import { z } from 'zod'
import { withinLockTimeout } from './lock-timeout.ts'
import type { Queryable } from './pool.ts'
import { changesOne, rowsOf, valueOf } from './rows.ts'
import { signatureSchema } from './review-policies.ts'

const reviewerRow = z.object({
  /** 1, 2, …: the order in which reviewers were added. */
  seq: z.int(),
  id: z.uuid(),
  name: z.string(),
  /** The name as names are compared; unique. */
  name_key: z.string(),
  /** Login of the reviewer in Postgres; null if none is stated. */
  login: z.string().nullable(),
  /** Ed25519, SPKI, DER. */
  public_key: z.instanceof(Buffer),
  statement: z.string(),
  /** Signatures of the statement by those who endorse it; none for the first reviewer. */
  endorsements: z.array(signatureSchema).readonly(),
  /** The order of reviewers and policies. */
  change: z.int(),
  /** By a login that has the role of the owner of the schema; Postgres sets it. */
  added_by_owner: z.boolean(),
  created_at: z.date(),
  retired_at: z.date().nullable(),
})
export type ReviewerRow = z.infer<typeof reviewerRow>

/** @returns false when the name or the public key is taken. */
export const insertReviewer = changesOne.named<
  Pick<ReviewerRow, 'id' | 'name' | 'name_key' | 'login' | 'public_key' | 'statement' | 'endorsements'>
>`
  insert into reviewers (id, name, name_key, login, public_key, statement, endorsements)
  values (:id, :name, :name_key, :login, :public_key, :statement, :endorsements::jsonb) on conflict do nothing`

/** In the order in which they were added. */
export const listReviewers = rowsOf(reviewerRow)<[limit: number]>`
  select seq::float8 as seq, id, name, name_key, login, public_key, statement, endorsements, change::float8 as change,
    added_by_owner, created_at, retired_at
  from reviewers order by seq limit $1`

/**
 * The guard of the table sets the time, and refuses the last active reviewer.
 * @returns false when the reviewer is retired already.
 */
export const retireReviewer = changesOne<[id: string]>`
  update reviewers set retired_at = now() where id = $1 and retired_at is null`

/**
 * The guards take the same lock: what is read after it stays so until the transaction ends.
 * @throws OperatorError when another session holds the lock for too long.
 */
export async function lockReviewers(client: Queryable): Promise<void> {
  await withinLockTimeout('The list of reviewers', client.query('select lock_reviewers()'))
}

export const isSchemaOwner = valueOf(z.boolean())`select pg_has_role(session_user, 'evidence_migration', 'member')`
