import { z } from 'zod'
import type { Queryable } from './pool.ts'

export const VERDICTS = ['approved', 'rejected'] as const
export type Verdict = (typeof VERDICTS)[number]

const reviewRow = z.object({
  id: z.uuid(),
  verdict: z.enum(VERDICTS),
  reviewer: z.string(),
  note: z.string(),
  created_at: z.date(),
})
export type ReviewRow = z.infer<typeof reviewRow>

export interface NewReview {
  readonly id: string
  readonly versionId: string
  readonly verdict: Verdict
  readonly reviewer: string
  readonly note: string
}

/** Reviews are only added, never changed; the newest counts. */
const INSERT = 'insert into reviews (id, version_id, verdict, reviewer, note) values ($1, $2, $3, $4, $5)'
const LIST =
  'select id, verdict, reviewer, note, created_at from reviews where version_id = $1 order by ' +
  'created_at desc, id limit $2'

export async function insertReview(client: Queryable, review: NewReview): Promise<void> {
  await client.query(INSERT, [review.id, review.versionId, review.verdict, review.reviewer, review.note])
}

/** Newest first. */
export async function listReviews(
  database: Queryable,
  versionId: string,
  limit: number,
): Promise<readonly ReviewRow[]> {
  return z.array(reviewRow).parse((await database.query(LIST, [versionId, limit])).rows)
}
