import type { Side } from '#core/db/version-differences.ts'
import { ArtifactError } from '#core/index/artifact-error.ts'
import { OperatorError } from '#core/platform/errors.ts'

/** Says what to do where the artifact of a candidate was altered. */
export function alteredCandidate(versionId: string, error: ArtifactError): OperatorError {
  return new OperatorError(
    `The artifact ${versionId} of the candidate was altered after it was built ` +
      `(${error.message.replace(/\.$/, '')}): find out who wrote to the artifact store, then build again.`,
    { cause: error },
  )
}

/** Says what to do where an artifact that is compared is missing or was altered. Other errors stay as they are. */
export function damagedArtifact(side: Side, versionId: string, error: unknown): unknown {
  if (!(error instanceof ArtifactError)) return error
  if (side === 'after') return alteredCandidate(versionId, error)
  return new OperatorError(
    `The candidate cannot be compared with the active version, whose artifact ${versionId} is damaged ` +
      `(${error.message.replace(/\.$/, '')}): restore the artifact from a backup, or roll back to a version whose ` +
      'artifact is whole, then build again.',
    { cause: error },
  )
}

/** Reads an artifact that is compared. @throws OperatorError where it is missing or was altered. */
export async function unlessDamaged<T>(side: Side, versionId: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    throw damagedArtifact(side, versionId, error)
  }
}
