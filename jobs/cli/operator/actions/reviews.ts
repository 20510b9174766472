import { randomUUID } from 'node:crypto'
import { OperatorError } from '#core/platform/errors.ts'
import { lockVersion, setVersionState } from '#core/db/activations.ts'
import { insertReview } from '#core/db/reviews.ts'
import type { Verdict } from '#core/db/reviews.ts'
import type { Queryable } from '#core/db/pool.ts'
import { versionNamed } from './names.ts'
import { recorded } from './operator.ts'
import type { Operator } from './operator.ts'

export interface ReviewInput {
  readonly version: string
  readonly verdict: Verdict
  /** Person who read the evaluation; may differ from the actor who records the review. */
  readonly reviewer: string
  readonly note: string
}

export interface Reviewed {
  readonly id: string
  readonly version_id: string
  readonly verdict: Verdict
  readonly reviewer: string
}

/**
 * Records a review. A rejected candidate can never be activated. A rollback cannot return to a retired version whose
 * newest review rejects it.
 */
export async function reviewVersion(operator: Operator, input: ReviewInput): Promise<Reviewed> {
  const { verdict, reviewer, note } = input
  const id = randomUUID()
  return recorded(operator, async (client) => {
    await lockVersion(client, (await versionNamed(client, input.version)).id)
    const version = await versionNamed(client, input.version)
    switch (verdict) {
      case 'approved':
        if (version.state === 'rejected')
          throw new OperatorError('The version was rejected, which is for good: build another candidate.')
        if (!version.passed)
          throw new OperatorError(
            'The version did not pass its evaluation, so it cannot be approved: see "operator review ' +
              'show", correct sources or questions, and build another candidate.',
          )
        break
      case 'rejected':
        await reject(client, version)
        break
      default:
        verdict satisfies never
    }
    await insertReview(client, { id, versionId: version.id, verdict, reviewer, note })
    const audit = {
      action: verdict === 'approved' ? 'review.approve' : 'review.reject',
      subject: `version:${version.id}`,
      detail: { knowledge_base: version.knowledge_base, reviewer, note },
    }
    return { result: { id, version_id: version.id, verdict, reviewer }, audit }
  })
}

/** Rejects a version under its lock, so that it is never rejected and activated at the same time. */
async function reject(
  client: Queryable,
  version: { readonly id: string; readonly state: string; readonly knowledge_base: string },
): Promise<void> {
  if (version.state === 'active')
    throw new OperatorError(
      'The version is active: return to the one before with "operator rollback ' +
        `${version.knowledge_base}", then reject it.`,
    )
  if (version.state === 'rejected') throw new OperatorError('The version is rejected already: nothing was changed.')
  if (version.state === 'candidate') await setVersionState(client, version.id, 'candidate', 'rejected')
}
