/**
 * An artifact that is not what its manifest, or whoever asked for it, says. The message names no folder of the machine.
 */
export class ArtifactError extends Error {
  override readonly name = 'ArtifactError'
}
