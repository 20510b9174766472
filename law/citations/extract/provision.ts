import { isRequestWord } from '#core/index/analysis/request-words.ts'
import type { ActMention, Citation, Confidence, Reading } from '#law/citations/citation.ts'
import { readComments } from '#law/citations/grammars/us.ts'
import { FUNCTION_WORD_FORMS, type TokenStream } from '#law/citations/lexer/tokens.ts'
import type { ActAliases } from '#law/citations/names/aliases.ts'
import { NOT_IN_FORCE } from '#law/citations/names/going-on.ts'
import { readNameBefore } from '#law/citations/names/unresolved.ts'
import { hasFrenchArticle, impliedDesignator, readDesignator } from '#law/citations/provisions/designators.ts'
import type { Designator } from '#law/citations/provisions/designators.ts'
import { readList, type Element } from '#law/citations/provisions/lists.ts'
import { readPrefixed } from '#law/citations/provisions/prefixed.ts'
import { cite } from './citations.ts'

/** Kinds that are surely a provision where one of its parts stands before: `subsection (4) of section 45`. */
const CERTAIN_WITH_A_PART = /^(?:schedule|article|section|sign|regulation)$/
const OWN_ACTS = ['act', 'title', 'law', 'code', 'regulation', 'directive', 'ordinance', 'statute', 'decree']

/** Reads a part before its provision: `point (f) of Article 6(1) GDPR`. */
export function readPartFirst(tokens: TokenStream, at: number, aliases: ActAliases): Reading | undefined {
  const provisions = readPrefixed(tokens, at)
  if (provisions === undefined) return undefined
  const { designator } = provisions
  const isCertain = CERTAIN_WITH_A_PART.test(designator.kind) || isNumberedAnnex(tokens, designator)
  return cite(tokens, provisions, undefined, aliases, isCertain ? 'certain' : 'needs act')
}

/** Reads a designator with its numbers, and the act before or after them. */
export function readProvision(
  tokens: TokenStream,
  at: number,
  from: number,
  before: ActMention | undefined,
  aliases: ActAliases,
): Reading | undefined {
  const [comment, ...comments] = readComments(tokens, at)
  if (comment !== undefined) {
    const elements = [{ ...comment, from }, ...comments]
    return cite(tokens, { designator: impliedDesignator('comment', at + 1), elements }, before, aliases, 'certain')
  }
  const designator = readDesignator(tokens, at)
  if (designator === undefined || (before?.code === true && before.cased !== true && designator.kind !== 'rule'))
    return undefined
  const [first, ...rest] = readList(tokens, designator)
  if (first === undefined) return undefined
  const { to: end } = rest.at(-1) ?? first
  if (before === undefined && isSelfCitation(tokens, at)) return { citations: [], end }
  const confidence = confidenceOf(tokens, at, designator, first, end)
  const reading = cite(tokens, { designator, elements: [{ ...first, from }, ...rest] }, before, aliases, confidence)
  if (before !== undefined || reading === undefined) return reading
  const scope = scopeOf(tokens, end, designator)
  // `ancien article 1382 du code civil`: its number is that of another article today.
  const former = NOT_IN_FORCE.has(tokens.text(at - 1)) ? `name:${tokens.text(at - 1)}-` : undefined
  const name = designator.taught === undefined ? undefined : readNameBefore(tokens, at, aliases)?.act
  const actOf = ({ act = name }: Citation) => (former === undefined ? act : act?.replace(/^[a-z]+:/, former))
  return { ...reading, citations: reading.citations.map((each) => ({ ...each, scope, act: actOf(each) })) }
}

/** `this Section 8`, `dieser § 4`: a provision of the text that the words stand in. */
function isSelfCitation(tokens: TokenStream, at: number): boolean {
  return tokens.reads(at - 1, 'this', 'dieser', 'dieses', 'diesem', 'diesen', 'cet', 'cette', 'present', 'presente')
}

function scopeOf(tokens: TokenStream, end: number, designator: Designator): Citation['scope'] {
  // `of this title`, `to this Regulation`, `dieses Gesetzes`, `du présent code`.
  const own = tokens.skip(tokens.skip(end, 'of', 'to', 'in', 'du', 'de'), 'la')
  if (tokens.reads(own, 'this', 'dieses', 'dieser', 'present', 'presente')) return 'self-citation'
  return isOfAnAct(tokens, end, designator) ? 'an act' : undefined
}

/** The confidence of a provision that may have no act. @param at position of the designator. */
function confidenceOf(
  tokens: TokenStream,
  at: number,
  designator: Designator,
  first: Element,
  end: number,
): Confidence {
  const isCertain = isUnambiguous(tokens, at, designator, first) || isOfAnAct(tokens, end, designator)
  if (isCertain && !isDivision(tokens, at, designator)) return 'certain'
  return mayBeHeld(tokens, at, designator, end) ? 'if held once' : 'needs act'
}

/**
 * Whether an article in small letters may be one that the corpus holds: `testament olographe art. 970`, `what does
 * article 6 say`. `Art 3 hours a day` and `the article 5 colleagues wrote` are none.
 */
function mayBeHeld(tokens: TokenStream, at: number, designator: Designator, end: number): boolean {
  if (designator.kind !== 'article') return false
  // `art 3 hours` counts hours; `art 1147 responsabilité` counts nothing.
  if (/^\d{3,}$/.test(tokens.text(designator.end))) return true
  if (designator.abbreviated) return tokens.reads(at + 1, '.')
  return !tokens.isWord(end) || isRequestWord(tokens.text(end)) || FUNCTION_WORD_FORMS.has(tokens.text(end))
}

/** `sections 168 and 179 of this title`: the text that the words come from is an act. */
function isOfAnAct(tokens: TokenStream, end: number, { kind, abbreviated }: Designator): boolean {
  if ((kind !== 'section' && kind !== 'article') || abbreviated) return false
  return tokens.reads(end, 'of') && tokens.reads(end + 1, 'this', 'that', 'the') && tokens.reads(end + 2, ...OWN_ACTS)
}

/** `Annex III`: a Roman numeral tells an annex of an act from one of a letter. */
function isNumberedAnnex(tokens: TokenStream, { kind, end }: Designator): boolean {
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
function isUnambiguous(tokens: TokenStream, at: number, designator: Designator, { parts, to }: Element): boolean {
  const { kind, capitalised, abbreviated } = designator
  const capital = tokens.isCapitalised(at)
  const number = parts[0]?.text ?? ''
  switch (kind) {
    case 'sign':
      return true
    case 'article':
      return capitalised || parts.length > 1 || hasFrenchArticle(tokens, at) || /^[lrd]\d/.test(number)
    case 'section':
    case 'regulation':
      return parts.length > 1 || !abbreviated
    case 'rule':
      // `Rule 3.2`, `rule 6.5.2`, `rule B3`, and a `Rule 19` within a sentence.
      if (parts.length > 1) return parts.length > 2 || capital
      if (/^[a-z]\d/.test(number)) return true
      return capitalised && (at === 0 ? tokens.isCapitalised(to) : tokens.isWord(at - 1))
    case 'recital':
      return capital && (capitalised || tokens.reads(at, 'erwg'))
    case 'annex':
      return capital && isNumberedAnnex(tokens, designator)
    case 'schedule':
    case 'chapter':
    case 'part':
    case 'title':
    case 'appendix':
    case 'supplement':
    case 'subpart':
    case 'paragraph':
    case 'comment':
      return false
    default:
      return kind satisfies never
  }
}
