/** An act as a query names it. */
export interface ActMention {
  readonly act: string
  /** Position after it. */
  readonly end: number
  /** Counts also without a provision beside it. */
  readonly standalone: boolean
  /** Position of the section's number, for a title whose sections follow directly (`15 U.S.C. 1601`). */
  readonly sections: number | undefined
  /** The provision path that a URI contains. */
  readonly path?: readonly string[]
  /** A short code of a rulebook. `cased`: written as in the corpus. */
  readonly code?: boolean
  readonly cased?: boolean
}

/** An act without further properties: an unresolved one, whose name no table holds. */
export function mentionOf(act: string, end: number): ActMention {
  return { act, end, standalone: false, sections: undefined }
}

/** Numbering scheme of an act's provisions. An act with an unknown scheme counts as a rulebook. */
export type Family = 'us' | 'eu' | 'uk' | 'de' | 'fr' | 'rulebook'

const FAMILIES: ReadonlyMap<string, Family> = new Map([
  ['cfr', 'us'],
  ['usc', 'us'],
  ['celex', 'eu'],
  ['ukpga', 'uk'],
  ['uksi', 'uk'],
  ['eur', 'eu'],
  ['name', 'uk'],
  ['de', 'de'],
  ['fr', 'fr'],
])

export function familyOf(act: string): Family {
  return FAMILIES.get(act.slice(0, act.indexOf(':'))) ?? 'rulebook'
}
