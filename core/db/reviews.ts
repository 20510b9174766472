import { z } from 'zod'
import { VERDICTS, type Verdict } from '#core/domain/review-statements.ts'
import { DATABASE_BOUNDS } from './bounds.ts'
import type { Queryable } from './pool.ts'
import { batches, execute, oneRowOf, rowsOf } from './rows.ts'

const reviewRow = z.object({
  id: z.uuid(),
  verdict: z.enum(VERDICTS),
  reviewer: z.string(),
  note: z.string(),
  /** The version that was to be replaced; null: none. */
  predecessor_id: z.uuid().nullable(),
  created_at: z.date(),
})

const predecessorRow = z.object({
  /** Null: no version is active. */
  versionId: z.uuid().nullable(),
  /** Sequence; null: none is on record. It differs each time a version becomes active, so no approval comes back. */
  activation: z.int().nullable(),
})
/** The version that is active, and the activation by which it became so. */
export type Predecessor = z.infer<typeof predecessorRow>

export interface NewReview {
  readonly id: string
  readonly versionId: string
  readonly predecessor: Predecessor
  readonly verdict: Verdict
  readonly reviewer: { readonly id: string; readonly name: string }
  readonly note: string
  readonly statement: string
  readonly signature: Buffer
}

/** Reviews are only added, never changed. */
export const insertReview = execute.named<NewReview>`
  insert into reviews (id, version_id, predecessor_id, predecessor_activation, verdict, reviewer_id, reviewer, note,
    statement, signature)
  values (:id, :versionId, :predecessor.versionId, :predecessor.activation, :verdict, :reviewer.id, :reviewer.name, :note,
    :statement, :signature)`

/** Newest first. */
export const listReviews = rowsOf(reviewRow)<[versionId: string, limit: number]>`
  select id, verdict, reviewer, note, predecessor_id, created_at from reviews where version_id = $1
  order by created_at desc, id limit $2`

const signedReviewRow = z.object({
  reviewer_id: z.uuid(),
  verdict: z.enum(VERDICTS),
  statement: z.string(),
  signature: z.instanceof(Buffer),
})
export type SignedReviewRow = z.infer<typeof signedReviewRow>

/**
 * The newest review of each reviewer about the transition from the predecessor to the version. One row a reviewer, so
 * that their number bounds the result.
 */
export const newestSignedReviews = rowsOf(signedReviewRow).named<Pick<NewReview, 'versionId' | 'predecessor'>>`
  select distinct on (reviewer_id) reviewer_id, verdict, statement, signature from reviews
  where version_id = :versionId and predecessor_id is not distinct from :predecessor.versionId
    and predecessor_activation is not distinct from :predecessor.activation
  order by reviewer_id, created_at desc, id`

const claimedReviewRow = z.object({
  id: z.uuid(),
  reviewer_id: z.uuid(),
  statement: z.string(),
  signature: z.instanceof(Buffer),
})
/** A review with a signature, which Postgres does not verify. */
export type ClaimedReview = z.infer<typeof claimedReviewRow>

const readClaimed = rowsOf(claimedReviewRow)<[after: string | null, limit: number, rejectsVersionId: string | null]>`
  select id, reviewer_id, statement, signature from reviews
  where ($1::uuid is null or id > $1) and ($3::uuid is null or version_id = $3 and verdict = 'rejected')
  order by reviews.id limit $2`

/**
 * Every claimed review, in batches.
 * @param rejectsVersionId only rejections of this version; a forged row must not hide a signed one.
 */
export const readClaimedReviews = (database: Queryable, rejectsVersionId: string | null) =>
  batches(
    DATABASE_BOUNDS.reviewBatchMax,
    ({ id }: ClaimedReview) => id,
    (after: string | null, limit) => readClaimed(database, after, limit, rejectsVersionId),
  )

/**
 * The version that a candidate of the knowledge base would replace now, with the sequence of the newest activation, which
 * the active version has.
 */
export const readPredecessor = oneRowOf(predecessorRow)<[knowledgeBaseId: string]>`
  select (select version_id from active_versions where knowledge_base_id = $1) as "versionId",
    (select max(sequence)::float8 from activations where knowledge_base_id = $1) as activation`

const waitingSchema = z.object({ knowledge_base: z.string(), count: z.int() })

/**
 * Candidates of a knowledge base that no review is about. Those from before the active version became active are passed
 * over: they were compared with another one.
 * @returns how many candidates wait for a review, for each knowledge base.
 */
export const candidatesWaiting = rowsOf(waitingSchema)<[limit: number]>`
  select k.slug as knowledge_base, count(v.id)::int as count
  from knowledge_bases k
  left join active_versions a on a.knowledge_base_id = k.id
  left join corpus_versions v on v.knowledge_base_id = k.id and v.state = 'candidate'
    and (a.activated_at is null or v.created_at > a.activated_at)
    and not exists (select from reviews r where r.version_id = v.id)
  group by k.slug order by k.slug limit $1`
