import { randomUUID } from 'node:crypto'
import { signStatement, statementSignatureHolds, type SigningKey } from '#core/credentials/reviewer-keys.ts'
import { lockVersion, setVersionState } from '#core/db/activations.ts'
import { readAuditHead } from '#core/db/audit.ts'
import type { Queryable } from '#core/db/pool.ts'
import type { ReviewerRow } from '#core/db/reviewers.ts'
import { insertReview, readPredecessor, type Predecessor } from '#core/db/reviews.ts'
import type { VersionRow } from '#core/db/versions.ts'
import type { ReviewPolicy } from '#core/domain/review-policy.ts'
import { parseStatement, reviewStatementSchema, statementText } from '#core/domain/review-statements.ts'
import type { AcceptableKind, AcceptedKind, ReviewStatement, Verdict } from '#core/domain/review-statements.ts'
import type { SignedStore } from '#core/index/format/store.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { assertWithdrawalsDecided } from '#jobs/version-build/withdrawn.ts'
import { readApproval, readRegistry, readReviewRules } from '#jobs/review/approvals.ts'
import { assertArtifactAsRecorded, assertFilesAsRecorded } from '#jobs/review/files.ts'
import { ReviewRefused } from '#jobs/review/review-refused.ts'
import { isRejected, readRejections } from '#jobs/review/rejections.ts'
import { acceptedKinds, assertComparable, kindsToAccept, subjectOf } from '#jobs/review/transition.ts'
import { versionRowNamed } from './names.ts'
import { withAudit, type Operator } from './operator.ts'
import { assertActive, reviewerOf } from './reviewers.ts'

export interface ReviewInput {
  readonly version: string
  readonly verdict: Verdict
  readonly note: string
  /** Kinds beyond their limits that the reviewer accepts by name. */
  readonly accept: readonly AcceptableKind[]
}

export type Reviewed = Awaited<ReturnType<typeof recordReview>>

/** Signs a review with the private key of a reviewer, and records it. */
export async function signReview(operator: Operator, store: SignedStore, key: SigningKey, input: ReviewInput) {
  const reviewer = reviewerOf(await readRegistry(operator.database), key)
  const text = await createStatement(operator, store, reviewer, input)
  return recordReview(operator, store, text, signStatement(text, key), reviewer)
}

/** @returns the exact bytes to sign, for a key that is kept elsewhere. */
export async function createReviewStatement(operator: Operator, store: SignedStore, name: string, input: ReviewInput) {
  return createStatement(operator, store, await reviewerNamed(operator, name), input)
}

/** Records a review that was signed elsewhere. */
export async function recordSignedReview(
  operator: Operator,
  store: SignedStore,
  signed: { readonly statement: string; readonly signature: Buffer; readonly reviewer: string },
): Promise<Reviewed> {
  const reviewer = await reviewerNamed(operator, signed.reviewer)
  return recordReview(operator, store, signed.statement, signed.signature, reviewer)
}

/** What an approval of the version must accept by name. */
export async function readKindsToAccept(operator: Operator, versionId: string): Promise<readonly AcceptedKind[]> {
  const { version } = await readSubject(operator.database, versionId)
  if (version.state === 'retired') return []
  const { policy } = (await readReviewRules(operator.database, version.knowledge_base_id)).inForce
  return kindsToAccept(version, policy)
}

/**
 * Says how far a candidate is from becoming active: who approved it, how many are missing with the command that signs,
 * or that it is stale. @returns undefined for a version that is no candidate.
 */
export async function standingOf(database: Queryable, versionId: string): Promise<string | undefined> {
  const { version, predecessor } = await readSubject(database, versionId)
  if (version.state !== 'candidate') return undefined
  const { policy } = (await readReviewRules(database, version.knowledge_base_id)).inForce
  const needed = `Approvals needed: ${policy.reviewers}.`
  const compared = version.comparison?.version_id ?? null
  if (compared !== predecessor.versionId)
    return (
      `stale: build again. It was compared with ${compared ?? 'no version'}, and ${predecessor.versionId ?? 'none'} ` +
      `is active now. Next: operator build start --import ${version.import_id} --wait`
    )
  try {
    const { reviewers } = await readApproval(database, version, predecessor)
    const names = reviewers.map(({ name }) => `"${name}"`).join(', ')
    return `${needed} ${names} approved. Next: operator activate ${versionId} --wait`
  } catch (error) {
    if (error instanceof ReviewRefused) return `${needed} ${error.message}`
    throw error
  }
}

async function reviewerNamed(operator: Operator, name: string): Promise<ReviewerRow> {
  const reviewer = (await readRegistry(operator.database)).named(name)
  if (reviewer === undefined)
    throw new OperatorError(`There is no active reviewer "${name}": see "operator reviewers list".`)
  return assertActive(reviewer)
}

async function createStatement(operator: Operator, store: SignedStore, reviewer: ReviewerRow, input: ReviewInput) {
  const { version, predecessor } = await readSubject(operator.database, input.version)
  const accepts = await assertReviewable(operator.database, version, predecessor, input)
  if (input.verdict === 'approved') await assertReadable(store, version)
  return statementText({
    ...subjectOf(version, predecessor),
    verdict: input.verdict,
    accepts,
    note: input.note,
    reviewer: { id: reviewer.id, name: reviewer.name },
    audit_head: await readAuditHead(operator.database),
  })
}

/** Who approves a candidate reads its files; who approves a return knows the version, which was active. */
async function assertReadable(store: SignedStore, version: VersionRow): Promise<void> {
  if (version.state === 'retired') await assertArtifactAsRecorded(store, version)
  else await assertFilesAsRecorded(store, version)
}

/** A version and the version that it would replace now. */
async function readSubject(database: Queryable, id: string) {
  const version = await versionRowNamed(database, id)
  return { version, predecessor: await readPredecessor(database, version.knowledge_base_id) }
}

/** @returns what the review accepts. @throws OperatorError when the version cannot be reviewed so. */
async function assertReviewable(
  database: Queryable,
  version: VersionRow,
  predecessor: Predecessor,
  { verdict, accept }: Pick<ReviewInput, 'verdict' | 'accept'>,
): Promise<ReviewStatement['accepts']> {
  const { policy } = (await readReviewRules(database, version.knowledge_base_id)).inForce
  assertUndecided(version, verdict, policy)
  if (await isRejected(database, version))
    throw new OperatorError('A review rejects the version already, which is for good.')
  switch (verdict) {
    case 'approved': {
      if (version.state === 'retired') return assertNothingAccepted('A rollback', accept)
      assertComparable(version, predecessor.versionId)
      await assertWithdrawalsDecided(database, version.knowledge_base_id, version.withdrawals_decided)
      return acceptedKinds(accept, version, policy)
    }
    case 'rejected':
      return assertNothingAccepted('A rejection', accept)
    default:
      return verdict satisfies never
  }
}

function assertNothingAccepted(what: string, accept: readonly AcceptableKind[]): readonly [] {
  if (accept.length > 0) throw new OperatorError(`${what} accepts nothing: leave out --accept.`)
  return []
}

function assertUndecided(version: VersionRow, verdict: Verdict, policy: ReviewPolicy): void {
  switch (version.state) {
    case 'active':
      throw new OperatorError(
        'The version is active: return to the one before with "operator rollback ' +
          `${version.knowledge_base}", then reject it.`,
      )
    case 'rejected':
      throw new OperatorError('The version was rejected, which is for good: build another candidate.')
    case 'retired':
      if (verdict === 'approved' && policy.rollback_reviewers === 0)
        throw new OperatorError(
          'The version was active before and needs no review: use "operator rollback" to return to it.',
        )
      break
    case 'candidate':
      break
    default:
      version.state satisfies never
  }
}

/**
 * Records a signed review under the lock of its version, where everything is checked again. A rejected candidate can
 * never be activated, and a rollback cannot return to a rejected version.
 * @returns `ignored`: earlier rejections whose signature does not hold.
 */
async function recordReview(
  operator: Operator,
  store: SignedStore,
  text: string,
  signature: Buffer,
  reviewer: ReviewerRow,
) {
  const statement = parseStatement<ReviewStatement>(reviewStatementSchema, text)
  if (statement === undefined)
    throw new OperatorError('The statement is not what "operator review statement" writes: write it again and sign it.')
  if (statement.reviewer.id !== reviewer.id || !statementSignatureHolds(text, signature, reviewer.public_key))
    throw new OperatorError(
      `The signature is not of this statement by "${reviewer.name}": sign the exact bytes of the file with that key.`,
    )
  const { version: subject } = await readSubject(operator.database, statement.candidate)
  if (statement.verdict === 'approved') await assertReadable(store, subject)
  const id = randomUUID()
  const action = statement.verdict === 'approved' ? 'review.approve' : 'review.reject'
  return withAudit(operator, action, async (client) => {
    await lockVersion(client, statement.candidate)
    const { version, predecessor } = await readSubject(client, statement.candidate)
    const { verdict, note } = statement
    const accept = statement.accepts.map(({ kind }) => kind)
    const accepts = await assertReviewable(client, version, predecessor, { verdict, accept })
    const { audit_head, reviewer: named } = statement
    const now = { ...subjectOf(version, predecessor), verdict, accepts, note, reviewer: named, audit_head }
    if (statementText(now) !== text)
      throw new OperatorError('The statement is about another state than the present one: write it again and sign it.')
    const { forged: ignored } = await readRejections(client, version.id)
    if (verdict === 'rejected' && version.state === 'candidate')
      await setVersionState(client, version.id, 'candidate', 'rejected')
    const row = { id, versionId: version.id, predecessor, verdict, reviewer, note }
    await insertReview(client, { ...row, statement: text, signature })
    const detail = {
      knowledge_base: version.knowledge_base,
      predecessor: predecessor.versionId,
      reviewer: reviewer.name,
      reviewer_id: reviewer.id,
      accepts,
      changes_sha256: version.changes_sha256,
      note,
    }
    const who = { predecessor: predecessor.versionId, verdict, reviewer: reviewer.name }
    return [{ id, version_id: version.id, ...who, accepts, ignored }, `version:${version.id}`, detail]
  })
}
