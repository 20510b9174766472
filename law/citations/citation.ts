import { matchNamed } from '#law/citations/lexer/patterns.ts'
import type { TokenStream } from '#law/citations/lexer/tokens.ts'
import type { DesignatorKind } from '#law/citations/provisions/designators.ts'
import FAMILIES from './families.json' with { type: 'json' }

/**
 * A provision of an act: the act's canonical id, and the parts of the provision, outermost first. `act` is undefined if
 * a query names a provision without its act ("§ 433"). An empty `path` is the act as a whole.
 */
export interface Reference {
  readonly act: string | undefined
  readonly path: readonly string[]
}

/** A reference as written in a query: `text` is `query.slice(start, end)`, offsets in UTF-16 units. */
export interface ExplicitReference {
  readonly text: string
  readonly start: number
  readonly end: number
  readonly reference: Reference
}

/** `cfr:12/1003#2/g/1`; `*#433` when the act is not known. Forms are equal if and only if the references are. */
export function canonicalReference(reference: Reference): string {
  const path = reference.path.length === 0 ? '' : `#${reference.path.join('/')}`
  return `${reference.act ?? '*'}${path}`
}

/**
 * Returns the provisions that contain this one, nearest first, and the act last if it is known. The reference itself is
 * not included.
 */
export function ancestorsOf(reference: Reference): Reference[] {
  const shortest = reference.act === undefined ? 1 : 0
  const ancestors: Reference[] = []
  for (let length = reference.path.length - 1; length >= shortest; length -= 1) {
    ancestors.push({ act: reference.act, path: reference.path.slice(0, length) })
  }
  return ancestors
}

/** An act as a query names it. */
export interface ActMention {
  readonly act: string
  /** Position after it. */
  readonly end: number
  /** Counts also without a provision beside it. */
  readonly standalone: boolean
  /** Position of the section's number, for a title whose sections follow directly (`15 U.S.C. 1601`). */
  readonly sections?: number
  /** The provision path that a URI contains. */
  readonly path?: readonly string[]
  /** A short code of a rulebook. `cased`: written as in the corpus. */
  readonly code?: boolean
  readonly cased?: boolean
}

/** An act that counts only beside a provision, such as an unresolved one: no table holds its name. */
export function actBeside(act: string, end: number): ActMention {
  return { act, end, standalone: false }
}

/** The act that a pattern of `lexer/patterns.json` reads here, which no table holds. */
export function readPattern(tokens: TokenStream, at: number, name: Parameters<typeof matchNamed>[2]) {
  const found = matchNamed(tokens, at, name)
  return found && actBeside(`name:${tokens.words(at, found.end)}`, found.end)
}

export function numberedAct(act: string, end: number): ActMention {
  return { act, end, standalone: true }
}

/** Numbering scheme of an act's provisions. An act with an unknown scheme counts as a rulebook. */
export type Family = keyof typeof FAMILIES

const isFamily = (name: string): name is Family => Object.hasOwn(FAMILIES, name)
const families = new Map(
  Object.keys(FAMILIES)
    .filter(isFamily)
    .flatMap((family) => FAMILIES[family].schemes.map((scheme) => [scheme, family] as const)),
)

export function familyOf(act: string): Family {
  return families.get(act.slice(0, act.indexOf(':'))) ?? 'rulebook'
}

/** Whether acts of its family have provisions of a kind. `paragraph` is in none: guidance and questions have them too. */
export function mayHave(act: string, kind: string): boolean {
  return FAMILIES[familyOf(act)].kinds.some((each) => each === kind)
}

/**
 * When a citation counts as a reference:
 * - `certain`: also without an act.
 * - `needs act`: only with an act. Such an act alone does not count; it is only the act of provisions elsewhere.
 * - `if held once`: with an act, or without one if the corpus holds the provision in one document alone.
 * - `if held`: only if the corpus holds the provision.
 */
export type Confidence = 'certain' | 'needs act' | 'if held once' | 'if held'

/** What may be a reference: the positions of its first token and after its last, and the parsed content. */
export interface Citation {
  readonly from: number
  readonly to: number
  readonly kind: DesignatorKind | 'act'
  readonly path: readonly string[]
  readonly act: string | undefined
  /** The act is that of an antecedent, and no name beside the provision. */
  readonly isInferred?: boolean
  readonly confidence: Confidence
  /** The first two parts are joined by a point (`1026.43`). */
  readonly pointed: boolean
  /**
   * `self-citation`: of the text that the words come from (`of this title`), so it takes no act from elsewhere.
   * `an act`: of `the Act` that the words are about, which is no part of the Code of Federal Regulations.
   */
  readonly scope?: 'self-citation' | 'an act' | undefined
}

/** What was read, and the position after it. */
export interface Reading {
  readonly citations: readonly Citation[]
  readonly end: number
}
