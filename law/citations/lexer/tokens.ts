import { FUNCTION_WORDS } from '#core/index/analysis/function-words.ts'
import { fold } from '#core/index/analysis/words.ts'

/** A run of letters, a run of digits, or one other visible character (`§§` is one). */
export interface Token {
  readonly kind: 'word' | 'number' | 'sign'
  /** Folded: lower case, without diacritics; dashes and apostrophes unified. */
  readonly text: string
  /** Text of the token in compatibility form (NFKC), with capitals. */
  readonly raw: string
  /** Offsets in the query, in UTF-16 units. */
  readonly start: number
  readonly end: number
  /** Nothing separates it from the previous token. */
  readonly glued: boolean
}

const TOKEN = /[\p{L}\p{M}\u00ad\u200b-\u200d]+|\p{Nd}+|§+|[^\s]/gu
/** Soft hyphens, joiners and direction marks, which editors insert before numbers. */
const INVISIBLE = /[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g
const ASCII_ONLY = /^[\0-\x7f]*$/
const SIGNS: ReadonlyMap<string, string> = new Map([
  ['‐', '-'],
  ['‑', '-'],
  ['–', '–'],
  ['—', '–'],
  ['−', '–'],
  ['’', "'"],
  ['‘', "'"],
  ['ʼ', "'"],
])

/** Returns the tokens of a text in order, in time linear in its length. */
export function tokenise(text: string): Token[] {
  const tokens: Token[] = []
  let previousEnd = -1
  for (const match of text.matchAll(TOKEN)) {
    const start = match.index
    const end = start + match[0].length
    const raw = ASCII_ONLY.test(match[0]) ? match[0] : match[0].normalize('NFKC').replace(INVISIBLE, '')
    const folded = SIGNS.get(raw) ?? fold(raw)
    if (folded !== '')
      tokens.push({ kind: kindOf(folded), text: folded, raw, start, end, glued: start === previousEnd })
    if (folded !== '' || start === previousEnd) previousEnd = end
  }
  return tokens
}

function kindOf(folded: string): Token['kind'] {
  if (/^[0-9]+$/.test(folded)) return 'number'
  return /^\p{L}/u.test(folded) ? 'word' : 'sign'
}

export function isCapitalised(token: Token | undefined): boolean {
  return token !== undefined && /^\p{Lu}/u.test(token.raw)
}

/** Legal forms of companies, and states, that look like the abbreviation of an act. */
const NO_ACT = new Set(['ag', 'kg', 'ohg', 'gbr', 'ug', 'eg', 'eu', 'usa', 'ggmbh', 'kgaa'])
/**
 * An act's abbreviation ends with the capital of `Gesetz`, `Ordnung`, `Buch`, `Verordnung`, `Recht`, `Vertrag`,
 * `Satzung`.
 */
const ABBREVIATION = /^\p{Lu}[\p{L}]{0,9}[GOBVRS]$/u

/** Whether a word has the form of a German act's abbreviation: `InsO`, `BGB`. */
function isGermanForm({ raw, text }: Token): boolean {
  return ABBREVIATION.test(raw) && !NO_ACT.has(text)
}

/** Whether a word has the form of a national act's abbreviation. Those of the EU end with `VO` or `R`. */
export function isNationalForm(token: Token): boolean {
  return isGermanForm(token) && /(?:G|B|[^V]O)$/.test(token.raw)
}

/** Articles, prepositions, pronouns and auxiliaries: they begin no name, whatever their case. */
export const FUNCTION_WORD_FORMS: ReadonlySet<string> = new Set(
  FUNCTION_WORDS.split(/\s+/)
    .filter((word) => word !== '')
    .map(fold),
)
