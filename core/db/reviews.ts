import { z } from 'zod'
import { VERDICTS, type Verdict } from '#core/domain/review-statements.ts'
import { DATABASE_BOUNDS } from './bounds.ts'
import type { Queryable } from './pool.ts'
import { readRows } from './rows.ts'

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
const INSERT =
  'insert into reviews (id, version_id, predecessor_id, predecessor_activation, verdict, reviewer_id, reviewer, ' +
  'note, statement, signature) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)'

export async function insertReview(client: Queryable, review: NewReview): Promise<void> {
  const { id, versionId, predecessor, verdict, reviewer, note, statement, signature } = review
  const transition = [versionId, predecessor.versionId, predecessor.activation]
  await client.query(INSERT, [id, ...transition, verdict, reviewer.id, reviewer.name, note, statement, signature])
}

const LIST =
  'select id, verdict, reviewer, note, predecessor_id, created_at from reviews ' +
  'where version_id = $1 order by created_at desc, id limit $2'

/** Newest first. */
export function listReviews(database: Queryable, versionId: string, limit: number) {
  return readRows(database, reviewRow, LIST, [versionId, limit])
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
where version_id = $1 and predecessor_id is not distinct from $2 and predecessor_activation is not distinct from $3
order by reviewer_id, created_at desc, id`

/** The newest review of each reviewer about the transition from the predecessor to the version. */
export async function newestSignedReviews(
  database: Queryable,
  versionId: string,
  predecessor: Predecessor,
): Promise<readonly SignedReviewRow[]> {
  const values = [versionId, predecessor.versionId, predecessor.activation]
  return readRows(database, signedReviewRow, NEWEST_SIGNED, values)
}

const claimedReviewRow = z.object({
  id: z.uuid(),
  reviewer_id: z.uuid(),
  statement: z.string(),
  signature: z.instanceof(Buffer),
})
/** A review with a signature, which Postgres does not verify. */
export type ClaimedReview = z.infer<typeof claimedReviewRow>

const CLAIMED_REVIEWS = 'select id, reviewer_id, statement, signature from reviews where ($1::uuid is null or id > $1)'
const PAGE = 'order by reviews.id limit $2'
const ALL_CLAIMED = `${CLAIMED_REVIEWS} ${PAGE}`
const CLAIMED_REJECTIONS = `${CLAIMED_REVIEWS} and version_id = $3 and verdict = 'rejected' ${PAGE}`

/** Every claimed review, in batches, so that memory does not grow with their number. */
export function readClaimedReviews(database: Queryable): AsyncGenerator<readonly ClaimedReview[]> {
  return claimedInBatches(database, ALL_CLAIMED, [])
}

/** Every claimed rejection of a version: a forged row must not hide a signed one. */
export function readClaimedRejections(
  database: Queryable,
  versionId: string,
): AsyncGenerator<readonly ClaimedReview[]> {
  return claimedInBatches(database, CLAIMED_REJECTIONS, [versionId])
}

async function* claimedInBatches(
  database: Queryable,
  statement: string,
  values: readonly unknown[],
): AsyncGenerator<readonly ClaimedReview[]> {
  let after: string | null = null
  for (;;) {
    const page = [after, DATABASE_BOUNDS.reviewBatchMax, ...values]
    const batch: readonly ClaimedReview[] = await readRows(database, claimedReviewRow, statement, page)
    yield batch
    if (batch.length < DATABASE_BOUNDS.reviewBatchMax) return
    after = batch.at(-1)?.id ?? null
  }
}

/** The sequence of the newest activation, which the active version has. */
const PREDECESSOR = `
select (select version_id from active_versions where knowledge_base_id = $1) as "versionId",
  (select max(sequence)::float8 from activations where knowledge_base_id = $1) as activation`

/** The version that a candidate of the knowledge base would replace now. */
export async function readPredecessor(database: Queryable, knowledgeBaseId: string): Promise<Predecessor> {
  return predecessorRow.parse((await database.query(PREDECESSOR, [knowledgeBaseId])).rows[0])
}

/**
 * Candidates of a knowledge base that no review is about. Those from before the active version became active are passed
 * over: they were compared with another one.
 */
const WAITING = `
select k.slug as knowledge_base, count(v.id)::int as count
from knowledge_bases k
left join active_versions a on a.knowledge_base_id = k.id
left join corpus_versions v on v.knowledge_base_id = k.id and v.state = 'candidate'
  and (a.activated_at is null or v.created_at > a.activated_at)
  and not exists (select from reviews r where r.version_id = v.id)
group by k.slug order by k.slug limit $1`
const waitingSchema = z.object({ knowledge_base: z.string(), count: z.int() })

/** @returns how many candidates wait for a review, for each knowledge base. */
export function candidatesWaiting(database: Queryable, limit: number) {
  return readRows(database, waitingSchema, WAITING, [limit])
}
