import { isRequestWord } from '#core/index/analysis/request-words.ts'
import type { Confidence } from '#law/citations/citation.ts'
import { FUNCTION_WORD_FORMS } from '#law/citations/lexer/tokens.ts'
import type { TokenStream } from '#law/citations/lexer/tokens.ts'
import { hasFrenchArticle } from '#law/citations/provisions/designators.ts'
import type { Designator } from '#law/citations/provisions/designators.ts'
import type { Element } from '#law/citations/provisions/lists.ts'

const OWN_ACTS = ['act', 'title', 'law', 'code', 'regulation', 'directive', 'ordinance', 'statute', 'decree']

/** The confidence of a provision that may have no act. @param at position of the designator. */
export function confidenceOf(
  tokens: TokenStream,
  at: number,
  designator: Designator,
  elements: readonly [Element, ...Element[]],
): Confidence {
  const [first] = elements
  const end = (elements.at(-1) ?? first).to
  const isCertain =
    isUnambiguous(tokens, at, designator, first) ||
    isOfAnAct(tokens, end, designator) ||
    isPlainRule(tokens, at, designator, first)
  if (isCertain && !isDivision(tokens, at, designator)) return 'certain'
  return mayBeHeld(tokens, at, designator, end) ? 'if held once' : 'needs act'
}

/** `rule B3`, and a `Rule 19` within a sentence: a rule of one part counts in a question. */
function isPlainRule(tokens: TokenStream, at: number, designator: Designator, { parts, to }: Element): boolean {
  const { kind, capitalised } = designator
  if (kind !== 'rule' || parts.length > 1) return false
  if (/^[a-z]\d/.test(parts[0]?.text ?? '')) return true
  return capitalised && (at === 0 ? tokens.isCapitalised(to) : tokens.isWord(at - 1))
}

/**
 * Whether an article in small letters may be one that the corpus holds: `testament olographe art. 970`, `what does
 * article 6 say`. `Art 3 hours a day` and `the article 5 colleagues wrote` are none.
 */
function mayBeHeld(
  tokens: TokenStream,
  at: number,
  { kind, abbreviated, end: number }: Designator,
  end: number,
): boolean {
  if (kind !== 'article') return false
  // `art 3 hours` counts hours; `art 1147 responsabilité` counts nothing.
  if (/^\d{3,}$/.test(tokens.text(number))) return true
  if (abbreviated) return tokens.reads(at + 1, '.')
  const next = tokens.get(end)
  return next?.kind !== 'word' || isRequestWord(next.text) || FUNCTION_WORD_FORMS.has(next.text)
}

/** `sections 168 and 179 of this title`: the text that the words come from is an act. */
export function isOfAnAct(tokens: TokenStream, end: number, { kind, abbreviated }: Designator): boolean {
  if ((kind !== 'section' && kind !== 'article') || abbreviated) return false
  return tokens.reads(end, 'of') && tokens.reads(end + 1, 'this', 'that', 'the') && tokens.reads(end + 2, ...OWN_ACTS)
}

/** `Annex III`: a Roman numeral tells an annex of an act from one of a letter. */
export function isNumberedAnnex(tokens: TokenStream, { kind, end }: Designator): boolean {
  return kind === 'annex' && /^[IVXL]+$/.test(tokens.raw(end))
}

/** `Chapter III, Section 2`: a division of a chapter. */
function isDivision(tokens: TokenStream, at: number, { kind }: Designator): boolean {
  return kind === 'section' && tokens.reads(at - 1, ',') && tokens.reads(at - 3, 'chapter', 'annex')
}

/**
 * Whether a provision without an act is unambiguously a reference: `§ 5`, `Article 6`, `section 5(a)`.
 * @param at position of the designator.
 */
function isUnambiguous(tokens: TokenStream, at: number, designator: Designator, first: Element): boolean {
  const [main] = first.parts
  const isBracketed = first.parts.length > 1
  const capital = tokens.isCapitalised(at)
  switch (designator.kind) {
    case 'sign':
      return true
    case 'article':
      return designator.capitalised || isBracketed || hasFrenchArticle(tokens, at) || /^[lrd]\d/.test(main?.text ?? '')
    case 'section':
    case 'regulation':
      return isBracketed || !designator.abbreviated
    case 'rule':
      // `Rule 3.2`: three parts in any letter case, two after a capital, one never.
      return first.parts.length >= 3 || (first.parts.length === 2 && capital)
    case 'recital':
      return capital && (designator.capitalised || tokens.reads(at, 'erwg'))
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
