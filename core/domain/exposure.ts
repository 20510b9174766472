/** One served passage that counts towards the exposure. */
export interface ServedPassage {
  readonly chunk: string
  readonly document: string
  readonly revision: string
  readonly ordinal: number
  /** Passages of the document in the version that served it. */
  readonly total: number
}
