/** An act as a query names it. */
export interface ActMention {
  readonly act: string
  /** The place after it. */
  readonly end: number
  /** Names the act also where no provision stands beside it. */
  readonly standing: boolean
  /** The place of the section's number, for a title whose sections follow directly (`15 U.S.C. 1601`). */
  readonly sections: number | undefined
  /** The provision that a URI holds itself. */
  readonly path?: readonly string[]
  /** A short code of a rulebook; `cased`: written as the corpus has it. */
  readonly code?: boolean
  readonly cased?: boolean
}
