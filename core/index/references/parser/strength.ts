import { isRequestWord } from '#core/index/analysis/request-words.ts'
import type { Designator } from './designators.ts'
import { isDetermined } from './fr.ts'
import type { Element } from './list.ts'
import { FUNCTION_WORD_FORMS } from './not-acts.ts'
import { isRuleNumber } from './rulebook.ts'
import { isCapitalised, reads, type Token } from './tokens.ts'

const OWN_ACTS = ['act', 'title', 'law', 'code', 'regulation', 'directive', 'ordinance', 'statute', 'decree']
/** Words before `in` or `to` that cite: `set out in section 3`, `pursuant to section 12`. */
const CITING = new Set(
  (
    'out specified defined described mentioned provided prescribed contained referred listed stated required laid ' +
    'pursuant according subject relating reference further accordance compliance comply conformity'
  ).split(' '),
)

/** Nouns of what a law says: `for the purposes of section 19`. */
const CITED_OF = new Set(
  (
    'purpose purposes requirement requirements provision provisions meaning terms application violation violations ' +
    'breach contravention virtue subsection subsections paragraph paragraphs infringement'
  ).split(' '),
)

/** `under section 59`: what stands before a section makes it one of a law, in any letter case. */
function isCited(tokens: readonly Token[], at: number): boolean {
  if (reads(tokens, at - 1, 'under', 'by', 'see', 'per')) return true
  const before = tokens[at - 2]
  if (reads(tokens, at - 1, 'of')) return CITED_OF.has(before?.text ?? '')
  if (!reads(tokens, at - 1, 'in', 'to', 'for', 'with')) return false
  return CITING.has(before?.text ?? '') || (isCapitalised(tokens[at - 1]) && before?.kind !== 'word')
}

/** `sections 2 or 9`: several numbers of one kind. */
export function isSeveral(elements: number, { kind, plural, abbreviated }: Designator): boolean {
  return (kind === 'section' || kind === 'regulation') && plural && !abbreviated && elements > 1
}

/**
 * Whether a provision of a question counts that would not in a label: `the powers in section 139`, `regulation 16`,
 * `rule B3`, and a `Rule 19` within a sentence. A number with points is as often one of a document (`section 4.5`).
 */
export function isPlain(tokens: readonly Token[], at: number, designator: Designator, { parts, to }: Element): boolean {
  const { kind, abbreviated, named } = designator
  if (parts.length > 1 || abbreviated) return false
  if (kind === 'rule' && /^[a-z]\d/.test(parts[0]?.text ?? '')) return true
  return (
    kind === 'section' ||
    kind === 'regulation' ||
    (kind === 'rule' && named && (at === 0 ? isCapitalised(tokens[to]) : tokens[at - 1]?.kind === 'word'))
  )
}

/**
 * Whether an article in small letters may be one that the corpus holds: `testament olographe art. 970`, `what does
 * article 6 say`. `Art 3 hours a day` and `the article 5 colleagues wrote` are none.
 */
export function isPossible(
  tokens: readonly Token[],
  at: number,
  { kind, abbreviated, end: number }: Designator,
  end: number,
): boolean {
  if (kind !== 'article') return false
  // `art 3 hours` counts hours; `art 1147 responsabilité` counts nothing.
  if (/^\d{3,}$/.test(tokens[number]?.text ?? '')) return true
  if (abbreviated) return reads(tokens, at + 1, '.')
  const next = tokens[end]
  return next?.kind !== 'word' || isRequestWord(next.text) || FUNCTION_WORD_FORMS.has(next.text)
}

/** `section 255 applies`: what a section does, no part of a thing does. */
function speaks(tokens: readonly Token[], end: number): boolean {
  return reads(tokens, end, 'applies', 'apply', 'shall', 'requires', 'provides', 'prohibits', 'states', 'governs')
}

/** `sections 168 and 179 of this title`: the text that the words come from is an act. */
export function isOfThisAct(tokens: readonly Token[], end: number, { kind, abbreviated }: Designator): boolean {
  if ((kind !== 'section' && kind !== 'article') || abbreviated) return false
  return (
    reads(tokens, end, 'of') && reads(tokens, end + 1, 'this', 'that', 'the') && reads(tokens, end + 2, ...OWN_ACTS)
  )
}

/** `Annex III`: a Roman numeral tells an annex of an act from one of a letter. */
export function isNumberedAnnex(tokens: readonly Token[], { kind, end }: Designator): boolean {
  return kind === 'annex' && /^[IVXL]+$/.test(tokens[end]?.raw ?? '')
}

/** `Chapter III, Section 2`: a division of a chapter. */
export function isDivision(tokens: readonly Token[], at: number, { kind }: Designator): boolean {
  return kind === 'section' && reads(tokens, at - 1, ',') && reads(tokens, at - 3, 'chapter', 'annex')
}

/**
 * Whether a provision without an act is unambiguously a reference: `§ 5`, `Article 6`, `section 5(a)`.
 * @param at position of the designator.
 */
export function isStrong(tokens: readonly Token[], at: number, designator: Designator, first: Element): boolean {
  const [main] = first.parts
  const isBracketed = first.parts.length > 1
  const capital = isCapitalised(tokens[at])
  switch (designator.kind) {
    case 'sign':
      return true
    case 'article':
      return designator.named || isBracketed || isDetermined(tokens, at) || /^[lrd]\d/.test(main?.text ?? '')
    case 'section':
      return (
        isBracketed ||
        (!designator.abbreviated && (designator.named || isCited(tokens, at) || speaks(tokens, first.to)))
      )
    case 'rule':
      return isRuleNumber(designator, first.parts, capital)
    case 'regulation':
      return isBracketed || (!designator.abbreviated && (designator.named || isCited(tokens, at)))
    case 'recital':
      return capital && (designator.named || reads(tokens, at, 'erwg'))
    case 'annex':
      return capital && isNumberedAnnex(tokens, designator)
    case 'schedule':
    case 'chapter':
    case 'part':
    case 'title':
    case 'appendix':
    case 'supplement':
    case 'paragraph':
      return false
    default:
      return designator.kind satisfies never
  }
}
