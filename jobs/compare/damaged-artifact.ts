import type { ArtifactError } from '#core/index/artifact-error.ts'
import type { Side } from '#core/db/version-differences.ts'
import { OperatorError } from '#core/platform/errors.ts'

/** Says what to do where an artifact that is compared is missing or was altered. */
export function damagedArtifact(side: Side, versionId: string, error: ArtifactError): OperatorError {
  const reason = error.message.replace(/\.$/, '')
  return new OperatorError(
    side === 'before'
      ? `The candidate cannot be compared with the active version, whose artifact ${versionId} is damaged ` +
          `(${reason}): restore the artifact from a backup, or roll back to a version whose artifact is whole, then ` +
          'build again.'
      : `The artifact ${versionId} of the candidate was altered after it was built (${reason}): find out who ` +
          'wrote to the artifact store, then build again.',
    { cause: error },
  )
}
