import { readRollbackPathTo } from '#core/db/activation-history.ts'
import type { ActivationRow } from '#core/db/activations.ts'
import type { Queryable } from '#core/db/pool.ts'
import { LOCAL_VERSION } from '#core/embedding/embedder.ts'
import { readPredecessor } from '#core/db/reviews.ts'
import type { VersionRow } from '#core/db/versions.ts'
import { readApproval, readReturnApproval } from '#jobs/review/approvals.ts'
import { ReviewRefused } from '#jobs/review/review-refused.ts'
import { isRejected } from '#jobs/review/rejections.ts'
import { assertPassed } from '#jobs/review/transition.ts'

export type AskedActivation = Pick<ActivationRow, 'kind' | 'knowledge_base_id' | 'expected_version_id'>

/** The pointer moved between the request and its turn. */
export const POINTER_MOVED =
  'Another version became active since this was asked for: check "operator versions list" and activate again if it ' +
  'is still wanted.'

/**
 * Checks that a version may become active. The check runs when it is asked for, before the activation, and again
 * inside its transaction.
 * @throws ReviewRefused
 * @returns `approved`: undefined for a rollback that the policy lets an operator make alone.
 */
export async function checkActivatable(
  database: Queryable,
  activation: AskedActivation,
  version: VersionRow | undefined,
) {
  assertActivatable(activation, version)
  if (await isRejected(database, version))
    throw new ReviewRefused('A review rejects the version, which is for good: build another candidate.')
  const predecessor = await readPredecessor(database, version.knowledge_base_id)
  if (activation.kind === 'rollback') {
    if ((await readRollbackPathTo(database, version.knowledge_base_id, version.id)) === undefined)
      throw new ReviewRefused(
        'The version is not on the way back, so nobody approved the step from the active version to it: build its ' +
          'sources again and have the candidate reviewed.',
      )
    return { version, approved: await readReturnApproval(database, version, predecessor) }
  }
  if (predecessor.versionId !== activation.expected_version_id) throw new ReviewRefused(POINTER_MOVED)
  return { version, approved: await readApproval(database, version, predecessor) }
}

/** The part of the check that needs only the version. @throws ReviewRefused */
function assertActivatable(
  activation: AskedActivation,
  version: VersionRow | undefined,
): asserts version is VersionRow {
  const rollback = activation.kind === 'rollback'
  if (version === undefined || version.knowledge_base_id !== activation.knowledge_base_id)
    throw new ReviewRefused(
      'The version does not belong to this knowledge base: "operator versions list" shows those that do.',
    )
  if (version.embedding?.provider === 'local') throw new ReviewRefused(LOCAL_VERSION)
  switch (version.state) {
    case 'active':
      throw new ReviewRefused('The version is active already: nothing is left to do.')
    case 'rejected':
      throw new ReviewRefused('The version was rejected in review: build another candidate from corrected sources.')
    case 'retired':
      if (!rollback)
        throw new ReviewRefused(
          'The version was active before and is retired: use "operator rollback" to return to it.',
        )
      break
    case 'candidate':
      if (rollback)
        throw new ReviewRefused(
          'The version was never active, so there is nothing to roll back to: use "operator activate".',
        )
      break
    default:
      version.state satisfies never
  }
  assertPassed(version)
}
