import type { ArtifactError } from '#core/index/artifact-error.ts'
import type { Side } from '#core/db/version-differences.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { alteredCandidate } from '#jobs/evaluation/altered-candidate.ts'

/** Says what to do where an artifact that is compared is missing or was altered. */
export function damagedArtifact(side: Side, versionId: string, error: ArtifactError): OperatorError {
  if (side === 'after') return alteredCandidate(versionId, error)
  return new OperatorError(
    `The candidate cannot be compared with the active version, whose artifact ${versionId} is damaged ` +
      `(${error.message.replace(/\.$/, '')}): restore the artifact from a backup, or roll back to a version whose ` +
      'artifact is whole, then build again.',
    { cause: error },
  )
}
