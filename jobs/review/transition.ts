import type { Predecessor } from '#core/db/reviews.ts'
import type { VersionRow } from '#core/db/versions.ts'
import { changeInWords, kindsBeyond, limitOf } from '#core/domain/changes.ts'
import type { ReviewPolicy } from '#core/domain/review-policy.ts'
import type { AcceptableKind, AcceptedKind, ReviewStatement } from '#core/domain/review-statements.ts'
import { ReviewRefused } from './review-refused.ts'

/** @throws ReviewRefused */
export function assertPassed(version: Pick<VersionRow, 'passed'>): void {
  if (!version.passed)
    throw new ReviewRefused(
      'The version did not pass its evaluation: read it with "operator review report", ' +
        'correct sources or questions, and build another candidate.',
    )
}

/**
 * Checks that a candidate can replace the predecessor at all, whoever approves it.
 * @param predecessor the active version; null: none.
 * @throws ReviewRefused
 */
export function assertComparable(version: VersionRow, predecessor: string | null): void {
  assertPassed(version)
  const { comparison } = version
  if (comparison === null && predecessor !== null)
    throw new ReviewRefused('The version was not compared with the active one: build it again to compare the two.')
  if (comparison !== null && comparison.version_id !== predecessor)
    throw new ReviewRefused(
      'The version was compared with another one than the active version: build it again to compare the two.',
    )
  if (version.changes_sha256 !== (comparison?.changes.sha256 ?? null))
    throw new ReviewRefused('The digest of the list of changes is not the one of the report: build the version again.')
}

/** What an approval must accept by name: kinds of change beyond their limits, and a ranking that is worse. */
export function kindsToAccept(
  { comparison }: Pick<VersionRow, 'comparison'>,
  policy: ReviewPolicy,
): readonly AcceptedKind[] {
  if (comparison === null) return []
  const { changes, worse, worse_on: metrics } = comparison
  const beyond = kindsBeyond(changes, policy.limits).map((kind) => ({ kind, count: changes.counts[kind] }))
  return worse ? [...beyond, { kind: 'ranking', count: Math.max(1, metrics.length) }] : beyond
}

/** `1 passage changed beyond the limit 0`. */
export function acceptanceInWords(
  { kind, count }: AcceptedKind,
  { comparison }: Pick<VersionRow, 'comparison'>,
  { limits }: ReviewPolicy,
): string {
  if (kind === 'ranking') return `a ranking that is worse on ${count} ${count === 1 ? 'metric' : 'metrics'}`
  const limit = comparison === null ? 0 : limitOf(kind, comparison.changes, limits)
  return `${changeInWords(kind, count)} beyond the limit ${limit}`
}

/** What an approval accepts, at most once each. */
export function acceptedKinds(
  wanted: readonly AcceptableKind[],
  version: VersionRow,
  policy: ReviewPolicy,
): readonly AcceptedKind[] {
  const toAccept = kindsToAccept(version, policy)
  const needless = wanted.find((kind) => !toAccept.some((one) => one.kind === kind))
  if (needless !== undefined)
    throw new ReviewRefused(`Nothing of the kind ${needless} is to be accepted: leave it out of --accept.`)
  const left = toAccept.filter(({ kind }) => !wanted.includes(kind))
  if (left.length > 0) {
    const words = left.map((one) => acceptanceInWords(one, version, policy)).join(', ')
    const kinds = toAccept.map(({ kind }) => kind).join(',')
    throw new ReviewRefused(
      `The version goes beyond the limits of the knowledge base: reject it, or add --accept ${kinds}: ${words}.`,
    )
  }
  return toAccept
}

/** The part of a statement that follows from the version; the rest is the reviewer's. */
export function subjectOf(
  version: VersionRow,
  predecessor: Predecessor,
): Omit<ReviewStatement, 'verdict' | 'accepts' | 'note' | 'reviewer' | 'audit_head'> {
  return {
    format: 'evidence review 1',
    knowledge_base: { id: version.knowledge_base_id, slug: version.knowledge_base },
    candidate: version.id,
    predecessor: predecessor.versionId,
    predecessor_activation: predecessor.activation,
    manifest_sha256: version.manifest_digest.toString('hex'),
    profile: { id: version.profile_id, sha256: version.profile_sha256 },
    report_sha256: version.report_sha256,
    figures_sha256: version.figures_sha256,
    changes_sha256: version.changes_sha256,
    question_set: version.question_set,
    withdrawals_decided: version.withdrawals_decided,
    withdrawals_restored: version.withdrawals_restored,
  }
}
