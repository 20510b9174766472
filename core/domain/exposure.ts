/** One served passage as exposure counts it. */
export interface ServedPassage {
  readonly chunk: string
  readonly document: string
  readonly revision: string
  readonly ordinal: number
  /** Passages of the document in the version that served it. */
  readonly total: number
}
