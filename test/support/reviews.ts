import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { createReviewerKey, parseSigningKey, signStatement, type SigningKey } from '#core/credentials/reviewer-keys.ts'
import { activePointer } from '#core/db/corpus-lists.ts'
import type { Database, Queryable } from '#core/db/pool.ts'
import { insertReviewPolicy } from '#core/db/review-policies.ts'
import { insertReviewer, listReviewers } from '#core/db/reviewers.ts'
import { insertReview, readPredecessor } from '#core/db/reviews.ts'
import { readVersion, type VersionRow } from '#core/db/versions.ts'
import { CHANGE_KINDS, type Changes } from '#core/domain/changes.ts'
import { DEFAULT_REVIEW_POLICY, type ReviewPolicy } from '#core/domain/review-policy.ts'
import { statementText, type ReviewStatement } from '#core/domain/review-statements.ts'
import type { ArtifactStore } from '#core/index/format/store.ts'
import { foldKey } from '#core/identity/fold.ts'
import { sha256 } from '#core/platform/digest.ts'
import { writeDurably } from '#core/platform/durable-file.ts'
import { readReviewRules } from '#jobs/review/approvals.ts'
import { kindsToAccept, subjectOf } from '#jobs/review/transition.ts'
import { withoutGuards } from './postgres.ts'

export interface TestReviewer {
  readonly id: string
  readonly name: string
  readonly key: SigningKey
}

export function createTestKey(): SigningKey {
  const key = parseSigningKey(createReviewerKey().privatePem)
  if (key === undefined) throw new Error('no key was made')
  return key
}

/** The first reviewer of every database of this process. */
const FIRST_KEY = createTestKey()

export async function firstReviewer(owner: Queryable): Promise<TestReviewer> {
  const known = (await listReviewers(owner, 100)).find((row) => row.public_key.equals(FIRST_KEY.publicKeyDer))
  return known === undefined
    ? insertTestReviewer(owner, 'first reviewer', FIRST_KEY)
    : { id: known.id, name: known.name, key: FIRST_KEY }
}

/** Adds a reviewer as the command does. Without endorsers it is the first. */
export async function insertTestReviewer(
  database: Queryable,
  name: string,
  key: SigningKey = createTestKey(),
  endorsers: TestReviewer | readonly TestReviewer[] = [],
  login: string | null = null,
): Promise<TestReviewer> {
  const id = randomUUID()
  const signers = [endorsers].flat().toSorted((a, b) => (a.id < b.id ? -1 : 1))
  const statement = statementText({
    format: 'evidence reviewer 1',
    id,
    name,
    login,
    public_key: key.publicKeyDer.toString('base64'),
    endorsed_by: signers.map((signer) => signer.id),
  })
  const endorsements = signers.map((signer) => ({
    reviewer: signer.id,
    signature: signStatement(statement, signer.key).toString('base64'),
  }))
  const row = { id, name, name_key: foldKey(name), login, public_key: key.publicKeyDer, statement, endorsements }
  if (!(await insertReviewer(database, row))) throw new Error(`there is a reviewer ${name} already`)
  return { id, name, key }
}

export interface Comparison {
  readonly worse?: boolean
  readonly counts?: Partial<Changes['counts']>
  /** Where the files of the report are written that the version lacks. */
  readonly store?: ArtifactStore
  /** The version compared with; default: the active one. */
  readonly predecessor?: string | null
}

/** Gives a candidate what the evaluation of a build leaves: a comparison with the active version, and files. */
export async function makeComparable(owner: Database, versionId: string, given: Comparison = {}): Promise<VersionRow> {
  const before = await versionOf(owner, versionId)
  const predecessor =
    given.predecessor === undefined
      ? ((await activePointer(owner, before.knowledge_base_id))?.version_id ?? null)
      : given.predecessor
  // A build that compared itself with the active version leaves nothing to add.
  const compared = before.comparison?.version_id === predecessor ? before.comparison : undefined
  if (
    compared !== undefined &&
    before.changes_sha256 !== null &&
    given.worse === undefined &&
    given.counts === undefined
  )
    return before
  const worse = given.worse ?? compared?.worse ?? false
  const changesFile = predecessor === null ? undefined : '{"kind":"passages_changed","label":"Rule 1"}\n'
  const sizes = { documents: 1, provisions: 1, passages: 1 }
  const comparison =
    changesFile === undefined
      ? null
      : {
          version_id: predecessor,
          questions: 0,
          metrics: {},
          worse,
          worse_on: compared?.worse_on ?? (worse ? ['ndcg@10'] : []),
          changes: {
            before: sizes,
            after: sizes,
            added: { documents: 0, provisions: 0, passages: 0 },
            counts: { ...Object.fromEntries(CHANGE_KINDS.map((kind) => [kind, 0])), ...given.counts },
            sha256: sha256(changesFile).toString('hex'),
          },
        }
  await withoutGuards(
    owner,
    "update corpus_versions set evaluation = evaluation || jsonb_build_object('comparison', $2::jsonb), " +
      'changes_sha256 = $3 where id = $1',
    [versionId, JSON.stringify(comparison), changesFile === undefined ? null : sha256(changesFile)],
  )
  if (given.store !== undefined) {
    for (const file of [given.store.reportFile(versionId), given.store.figuresFile(versionId)])
      if (!existsSync(file)) await writeDurably(file, '')
    if (changesFile !== undefined) await writeDurably(given.store.changesFile(versionId), changesFile)
  }
  return versionOf(owner, versionId)
}

async function versionOf(owner: Queryable, versionId: string): Promise<VersionRow> {
  const version = await readVersion(owner, versionId)
  if (version === undefined) throw new Error(`there is no version ${versionId}`)
  return version
}

export type Signed = Pick<ReviewStatement, 'verdict' | 'accepts'> & {
  readonly reviewer: TestReviewer
  /** Changes the statement before it is signed. */
  readonly alter: (statement: ReviewStatement) => ReviewStatement
}

/** Inserts a signed review about the step from the active version, accepting whatever is to be accepted. */
export async function insertSignedReview(
  database: Queryable,
  versionId: string,
  given: Partial<Signed> = {},
): Promise<void> {
  const version = await versionOf(database, versionId)
  const { reviewer = await firstReviewer(database), verdict = 'approved', alter = (same) => same } = given
  const predecessor = await readPredecessor(database, version.knowledge_base_id)
  const { policy } = (await readReviewRules(database, version.knowledge_base_id)).inForce
  const accepts = given.accepts ?? (verdict === 'approved' ? kindsToAccept(version, policy) : [])
  const { id, name } = reviewer
  const subject = subjectOf(version, predecessor)
  const statement = alter({ ...subject, verdict, accepts, note: '', reviewer: { id, name }, audit_head: null })
  const text = statementText(statement)
  const signature = signStatement(text, reviewer.key)
  const row = { id: randomUUID(), versionId, predecessor, verdict, reviewer: { id, name }, note: '' }
  await insertReview(database, { ...row, statement: text, signature })
}

/** Makes a candidate comparable with the active version, and approves the step to it. */
export async function approve(owner: Database, versionId: string, comparison?: Comparison): Promise<void> {
  await makeComparable(owner, versionId, comparison)
  await insertSignedReview(owner, versionId)
}

/** Sets the first policy of a knowledge base, signed by the first reviewer. */
export async function requireReviewers(
  owner: Queryable,
  knowledgeBase: { readonly id: string; readonly slug: string },
  reviewers: number,
  rollbackReviewers = 0,
): Promise<void> {
  await insertSignedPolicy(owner, knowledgeBase, {
    seq: 1,
    previous: null,
    policy: { reviewers, rollback_reviewers: rollbackReviewers },
    signers: [await firstReviewer(owner)],
  })
}

/**
 * Inserts a review policy that differs from the default one in what is given.
 *
 * @returns the digest of its statement, which the next one names.
 */
export async function insertSignedPolicy(
  client: Queryable,
  knowledgeBase: { readonly id: string; readonly slug: string },
  given: {
    readonly seq: number
    readonly previous: string | null
    readonly policy: Partial<ReviewPolicy>
    readonly signers: readonly TestReviewer[]
  },
): Promise<string> {
  const statement = statementText({
    format: 'evidence review policy 1',
    knowledge_base: knowledgeBase,
    seq: given.seq,
    previous_sha256: given.previous,
    policy: { ...DEFAULT_REVIEW_POLICY, ...given.policy },
  })
  const signatures = given.signers.map(({ id, key }) => ({
    reviewer: id,
    signature: signStatement(statement, key).toString('base64'),
  }))
  if (
    !(await insertReviewPolicy(client, { knowledge_base_id: knowledgeBase.id, seq: given.seq, statement, signatures }))
  )
    throw new Error('there is a policy already')
  return sha256(statement).toString('hex')
}
