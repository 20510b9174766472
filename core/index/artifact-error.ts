export interface ArtifactErrorOptions extends ErrorOptions {
  /** A file could not be read at all, which says nothing about its bytes: the store may be away. */
  readonly absent?: boolean
}

/** An artifact does not match its manifest or the request. The message names no local folder. */
export class ArtifactError extends Error {
  override readonly name = 'ArtifactError'
  readonly absent: boolean

  constructor(message: string, { absent = false, ...options }: ArtifactErrorOptions = {}) {
    super(message, options)
    this.absent = absent
  }
}
