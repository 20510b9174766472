import { z } from 'zod'
import { VERDICTS } from '#core/domain/review-statements.ts'
import type { Verdict } from '#core/domain/review-statements.ts'
import type { Queryable } from './pool.ts'

const reviewRow = z.object({
  id: z.uuid(),
  verdict: z.enum(VERDICTS),
  reviewer: z.string(),
  note: z.string(),
  /** The version that was to be replaced; null: none, or a review of an earlier release. */
  predecessor_id: z.uuid().nullable(),
  /** False: a review of an earlier release, which counts for nothing unless it rejects. */
  signed: z.boolean(),
  created_at: z.date(),
})
export type ReviewRow = z.infer<typeof reviewRow>

export interface NewReview {
  readonly id: string
  readonly versionId: string
  readonly predecessorId: string | null
  readonly verdict: Verdict
  readonly reviewer: { readonly id: string; readonly name: string }
  readonly note: string
  readonly statement: string
  readonly signature: Buffer
}

/** Reviews are only added, never changed. */
const INSERT =
  'insert into reviews (id, version_id, predecessor_id, verdict, reviewer_id, reviewer, note, statement, signature) ' +
  'values ($1, $2, $3, $4, $5, $6, $7, $8, $9)'

export async function insertReview(client: Queryable, review: NewReview): Promise<void> {
  const { id, versionId, predecessorId, verdict, reviewer, note, statement, signature } = review
  const values = [id, versionId, predecessorId, verdict, reviewer.id, reviewer.name, note, statement, signature]
  await client.query(INSERT, values)
}

const LIST =
  'select id, verdict, reviewer, note, predecessor_id, signature is not null as signed, created_at from reviews ' +
  'where version_id = $1 order by created_at desc, id limit $2'

/** Newest first. */
export async function listReviews(
  database: Queryable,
  versionId: string,
  limit: number,
): Promise<readonly ReviewRow[]> {
  return z.array(reviewRow).parse((await database.query(LIST, [versionId, limit])).rows)
}

const signedReviewRow = z.object({
  reviewer_id: z.uuid(),
  verdict: z.enum(VERDICTS),
  statement: z.string(),
  signature: z.instanceof(Buffer),
})
export type SignedReviewRow = z.infer<typeof signedReviewRow>

/** One row a reviewer, so that their number bounds the result. */
const NEWEST_SIGNED = `
select distinct on (reviewer_id) reviewer_id, verdict, statement, signature from reviews
where version_id = $1 and predecessor_id is not distinct from $2 and signature is not null
order by reviewer_id, created_at desc, id`

/** The newest review of each reviewer about the transition from the predecessor to the version. */
export async function newestSignedReviews(
  database: Queryable,
  versionId: string,
  predecessorId: string | null,
): Promise<readonly SignedReviewRow[]> {
  return z.array(signedReviewRow).parse((await database.query(NEWEST_SIGNED, [versionId, predecessorId])).rows)
}
