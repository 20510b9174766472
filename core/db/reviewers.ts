import { z } from 'zod'
import type { Queryable } from './pool.ts'

const reviewerRow = z.object({
  /** 1, 2, …: the order in which reviewers were added. */
  seq: z.int(),
  id: z.uuid(),
  name: z.string(),
  /** Of this person in Postgres; null: not stated. */
  login: z.string().nullable(),
  /** Ed25519, SPKI, DER. */
  public_key: z.instanceof(Buffer),
  /** Null: the first reviewer. */
  endorsed_by: z.uuid().nullable(),
  statement: z.string(),
  /** Signature of the statement by the endorser. */
  endorsement: z.instanceof(Buffer).nullable(),
  created_at: z.date(),
  retired_at: z.date().nullable(),
})
export type ReviewerRow = z.infer<typeof reviewerRow>

export interface NewReviewer {
  readonly id: string
  readonly name: string
  readonly login: string | null
  readonly publicKey: Buffer
  readonly endorsedBy: string | null
  readonly statement: string
  readonly endorsement: Buffer | null
}

const INSERT =
  'insert into reviewers (id, name, login, public_key, endorsed_by, statement, endorsement) ' +
  'values ($1, $2, $3, $4, $5, $6, $7) on conflict do nothing'

/** @returns false when the name or the public key is taken. */
export async function insertReviewer(client: Queryable, row: NewReviewer): Promise<boolean> {
  const { id, name, login, publicKey, endorsedBy, statement, endorsement } = row
  const values = [id, name, login, publicKey, endorsedBy, statement, endorsement]
  return (await client.query(INSERT, values)).rowCount === 1
}

const LIST =
  'select seq::float8 as seq, id, name, login, public_key, endorsed_by, statement, endorsement, created_at, ' +
  'retired_at from reviewers order by seq limit $1'

/** In the order in which they were added. */
export async function listReviewers(database: Queryable, limit: number): Promise<readonly ReviewerRow[]> {
  return z.array(reviewerRow).parse((await database.query(LIST, [limit])).rows)
}

/** The guard of the table sets the time, and refuses the last active reviewer. */
const RETIRE = 'update reviewers set retired_at = now() where id = $1 and retired_at is null'

/** @returns false when the reviewer is retired already. */
export async function retireReviewer(client: Queryable, id: string): Promise<boolean> {
  return (await client.query(RETIRE, [id])).rowCount === 1
}

/** The guards take the same lock: what is read after it stays so until the transaction ends. */
const LOCK = "select pg_advisory_xact_lock(hashtextextended('reviewers', 0))"

export async function lockReviewers(client: Queryable): Promise<void> {
  await client.query(LOCK)
}
