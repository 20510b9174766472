import type { ActivationRow } from '#core/db/activations.ts'
import type { VersionRow } from '#core/db/versions.ts'

/** Permanent failure; a retry cannot help. `message` says what to do next. */
export class ActivationRefused extends Error {
  override readonly name = 'ActivationRefused'
}

/**
 * Checks that a version may become active. The check runs before the activation and again inside its transaction.
 * @throws ActivationRefused
 */
export function assertActivatable(
  activation: ActivationRow,
  version: VersionRow | undefined,
): asserts version is VersionRow {
  const rollback = activation.kind === 'rollback'
  if (version === undefined || version.knowledge_base_id !== activation.knowledge_base_id)
    throw new ActivationRefused(
      'The version does not belong to this knowledge base: "operator versions list" shows those that do.',
    )
  switch (version.state) {
    case 'active':
      throw new ActivationRefused('The version is active already: nothing is left to do.')
    case 'rejected':
      throw new ActivationRefused('The version was rejected in review: build another candidate from corrected sources.')
    case 'retired':
      if (!rollback)
        throw new ActivationRefused(
          'The version was active before and is retired: use "operator rollback" to return to it.',
        )
      break
    case 'candidate':
      if (rollback)
        throw new ActivationRefused(
          'The version was never active, so there is nothing to roll back to: use "operator activate".',
        )
      break
    default:
      version.state satisfies never
  }
  if (!version.passed)
    throw new ActivationRefused(
      'The version did not pass its evaluation: read the report with "operator versions show", ' +
        'correct sources or questions, and build another candidate.',
    )
  const overridden = rollback || activation.override_reason !== null
  if (version.worse && !overridden)
    throw new ActivationRefused(
      'The evaluation found the version worse than the active one: build a better candidate, or ' +
        'activate it with --override and the reason, which the audit trail keeps.',
    )
  if (version.compared_with !== null && version.compared_with !== activation.expected_version_id && !overridden)
    throw new ActivationRefused(
      'The version was compared with another one than the active version: build it again to compare the two, ' +
        'or activate it with --override and the reason, which the audit trail keeps.',
    )
  if (version.verdict === null)
    throw new ActivationRefused('The version has not been reviewed: review it with "operator review" first.')
  if (version.verdict === 'rejected')
    throw new ActivationRefused(
      'The newest review rejects the version: have it reviewed again, or build another candidate.',
    )
}
