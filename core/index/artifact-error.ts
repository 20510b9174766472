/** An artifact does not match its manifest or the request. The message names no local folder. */
export class ArtifactError extends Error {
  override readonly name = 'ArtifactError'
}
