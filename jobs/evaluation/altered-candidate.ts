import type { ArtifactError } from '#core/index/artifact-error.ts'
import { OperatorError } from '#core/platform/errors.ts'

/** Says what to do where the artifact of a candidate was altered. */
export function alteredCandidate(versionId: string, error: ArtifactError): OperatorError {
  return new OperatorError(
    `The artifact ${versionId} of the candidate was altered after it was built ` +
      `(${error.message.replace(/\.$/, '')}): find out who wrote to the artifact store, then build again.`,
    { cause: error },
  )
}
