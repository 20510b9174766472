/** An act as a query names it. */
export interface ActMention {
  readonly act: string
  /** Position after it. */
  readonly end: number
  /** Counts also without a provision beside it. */
  readonly standing: boolean
  /** Position of the section's number, for a title whose sections follow directly (`15 U.S.C. 1601`). */
  readonly sections: number | undefined
  /** The provision path that a URI contains. */
  readonly path?: readonly string[]
  /** A short code of a rulebook. `cased`: written as in the corpus. */
  readonly code?: boolean
  readonly cased?: boolean
}

/** An act without further properties: one that no table lists. */
export function mentionOf(act: string, end: number): ActMention {
  return { act, end, standing: false, sections: undefined }
}
