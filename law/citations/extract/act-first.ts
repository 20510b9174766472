import { isRequestWord } from '#core/index/analysis/request-words.ts'
import { familyOf, type ActMention, type Citation, type Reading } from '#law/citations/citation.ts'
import { FUNCTION_WORD_FORMS, type TokenStream } from '#law/citations/lexer/tokens.ts'
import { readAct } from '#law/citations/names/acts.ts'
import type { ActAliases } from '#law/citations/names/aliases.ts'
import { endOfNonStatutory } from '#law/citations/names/non-statutory.ts'
import { explainsDistantly, readUnresolvedBefore } from '#law/citations/names/unresolved.ts'
import {
  designationOf,
  impliedDesignator,
  readDesignator,
  readOrdinal,
  tableAt,
} from '#law/citations/provisions/designators.ts'
import { afterConnector, readList, type Element } from '#law/citations/provisions/lists.ts'
import { readDesignation, wholeNumber } from '#law/citations/provisions/numbers.ts'
import { readRoman, ROMAN_PARAGRAPH } from '#law/citations/provisions/roman.ts'
import { COUNTS_ANEW, readCjkArticle } from './cjk.ts'
import { citeInAct, cite } from './citations.ts'
import { readProvision } from './provision.ts'
import { readShortRule, readSingleNumber } from './short-form.ts'
import { isDesignatorBehind, isLink, languagesIn } from '#law/citations/lexer/languages.ts'
import { readQualifiers } from '#law/citations/provisions/qualifiers.ts'

const BETWEEN = new Set([',', '،', '፣', ':', '(', '–', '-', "'", 's', 'in'])
const BETWEEN_MAX = 3
/** Numbers before one word. */
const LIST_MAX = 8
const ORDINAL_ENDINGS = 'inci nci uncu ıncı ncı ncu ci cı cu րդ ე ші шы'.split(' ')

/** Reads the citation that starts with an act: `GDPR Art. 6`, `15 U.S.C. 1601`, `AML 8.3.3`, or the act alone. */
export function readActFirst(tokens: TokenStream, at: number, aliases: ActAliases): Reading | undefined {
  const mention = readAct(tokens, at, aliases)
  if (mention === undefined) return undefined
  if (COUNTS_ANEW.test(tokens.text(mention.end))) return { citations: [], end: mention.end }
  const alone = actAlone(at, mention, 'certain')
  if (mention.path !== undefined) return alone
  if (mention.sections !== undefined) {
    const isCode = mention.act.startsWith('usc:')
    const isRange = isSeveral(tokens, mention.sections - 1)
    const implied = impliedDesignator('section', mention.sections, true)
    const designator = { ...implied, dashed: !isRange, ranged: isCode && isRange }
    return citeInAct(tokens, { designator, elements: readList(tokens, designator) }, mention.act, at)
  }
  const table = mention.act.startsWith('cfr:') ? tableAt(tokens, tokens.skip(mention.end, ',')) : undefined
  if (table !== undefined) {
    const { citations } = actAlone(at, { ...mention, path: [table.name], end: table.end }, 'certain')
    return { citations, end: table.end }
  }
  return (
    readNumberAfter(tokens, at, mention) ??
    readAfter(tokens, mention.end, aliases, (index) => readProvisionOf(tokens, index, at, mention, aliases)) ??
    (mention.standalone ? (readUnreadPart(tokens, at, mention, aliases) ?? alone) : undefined)
  )
}

/**
 * Reads `disposición final 5` before `de la Ley …`, in languages without a grammar of their own: a part of the act by
 * words that no table has. Only a label of the same words names it, so another provision of the act never supports it.
 */
function readUnreadPart(tokens: TokenStream, at: number, mention: ActMention, aliases: ActAliases) {
  const codes = languagesIn(tokens, aliases.languages)
  const joins = (index: number) => isLink(tokens.text(index), codes) || tokens.reads(index, 'of', 'to', 'the')
  let end = at
  while (end > Math.max(0, at - BETWEEN_MAX) && joins(end - 1)) end -= 1
  const word = tokens.text(end - 2)
  if (end === at || !tokens.isWord(end - 2) || FUNCTION_WORD_FORMS.has(word) || joins(end - 2)) return undefined
  // A provision that is read is no unread part.
  if (isRequestWord(word) || readDesignator(tokens, end - 2) !== undefined) return undefined
  const isArabic = tokens.isNumber(end - 1) && !tokens.isYear(end - 1)
  if (!isArabic && !ROMAN_PARAGRAPH.test(tokens.raw(end - 1)) && !readOrdinal(tokens, end - 1)) return undefined
  return actAlone(end - 2, { ...mention, path: [`${word}-${tokens.text(end - 1)}`] }, 'certain')
}

/** `§§`, `sections`: the word before a number says that several follow. */
function isSeveral(tokens: TokenStream, at: number): boolean {
  const isTwo = tokens.isSectionSign(at) && (tokens.text(at).length > 1 || tokens.isSectionSign(at - 1))
  return isTwo || tokens.reads(tokens.reads(at, '.') ? at - 1 : at, 'sections', 'secs')
}

/**
 * Reads the citation that starts with an unresolved act: `Solvency II Article 28`. The name of an act alone is only the
 * act of provisions elsewhere in the query.
 */
export function readUnresolvedFirst(tokens: TokenStream, at: number, aliases: ActAliases): Reading | undefined {
  const mention = readUnresolvedBefore(tokens, at, aliases)
  if (mention === undefined) return undefined
  const read: Read = (index) => readProvisionOf(tokens, index, at, mention, aliases)
  const reading = readAfter(tokens, mention.end, aliases, read)
  // A listed act within a longer name is read where it begins.
  if (reading !== undefined || mention.standalone) return reading
  if (!explainsDistantly(tokens, at, mention)) return { citations: [], end: mention.end }
  return actAlone(at, mention, 'needs act')
}

/** Passes over a non-statutory source and the provision after it, unless that provision has an act of its own. */
export function passSource(tokens: TokenStream, at: number, aliases: ActAliases): Reading | undefined {
  const source = endOfNonStatutory(tokens, at)
  if (source === undefined) return undefined
  const read: Read = (index) =>
    readProvision(tokens, index, index, undefined, aliases) ?? readShortRule(tokens, index, aliases)
  const reading = readAfter(tokens, source, aliases, read)
  const isOfAct = reading?.citations.some(({ act }) => act !== undefined) === true
  return { citations: [], end: reading === undefined || isOfAct ? source : reading.end }
}

function readProvisionOf(tokens: TokenStream, at: number, from: number, act: ActMention, aliases: ActAliases) {
  const reading = readCjkArticle(tokens, at, aliases) ?? readNumberFirst(tokens, at, aliases, from, act)
  return reading ?? readProvision(tokens, at, from, act, aliases)
}

function actAlone(from: number, { act, end, path = [] }: ActMention, confidence: Citation['confidence']): Reading {
  return { citations: [{ from, to: end, kind: 'act', path, act, confidence, pointed: false }], end }
}

/** Reads what follows an act, perhaps after a mark: `GDPR, Art. 6`, `EMIR's Article 9`. */
type Read = (index: number) => Reading | undefined
function readAfter(tokens: TokenStream, end: number, aliases: ActAliases, read: Read): Reading | undefined {
  const languages = languagesIn(tokens, aliases.languages)
  for (let index = end; index <= end + BETWEEN_MAX; index += 1) {
    const reading = read(index)
    const isSmall = aliases.designators.size > 0 && tokens.isSmall(index)
    const goesOn = isSmall || BETWEEN.has(tokens.text(index)) || isLink(tokens.text(index), languages)
    if (reading !== undefined || !goesOn) return reading
  }
  return undefined
}

/**
 * Reads the number after an act's name: `COBS 3.4.1`, `GDPR 6(1)(f)`. A single number is ambiguous and counts only as
 * the chapter of a rulebook in capitals (`GEN 3`), or if the corpus holds it (`GDPR 17`).
 */
function readNumberAfter(tokens: TokenStream, from: number, mention: ActMention): Reading | undefined {
  const parts = readDesignation(tokens, mention.end)?.parts.length ?? 0
  if (parts < leastParts(tokens, mention)) return readSingleNumber(tokens, from, mention)
  const kind = familyOf(mention.act) === 'rulebook' ? 'rule' : 'section'
  const designator = impliedDesignator(kind, mention.end, true)
  return citeInAct(tokens, { designator, elements: readList(tokens, designator) }, mention.act, from)
}

function leastParts(tokens: TokenStream, { code, cased, end }: ActMention): number {
  if (code !== true) return 2
  if (cased !== true) return 3
  return /^\d{1,2}$/.test(tokens.text(end)) && /^\p{Lu}{3,}$/u.test(tokens.raw(end - 1)) ? 1 : 2
}

/**
 * Reads a provision whose word stands behind its number: `36 §`, `3 kap. 5 §`, `5–7 §§`, `5. pants`, `6:519. §`.
 * @param from where the citation begins, with its act before it.
 */
export function readNumberFirst(tokens: TokenStream, at: number, aliases: ActAliases, from = at, before?: ActMention) {
  const counted = readOrdinalFirst(tokens, at, aliases, from, before)
  const languages = languagesIn(tokens, aliases.languages)
  if (counted !== undefined || languages.size === 0) return counted
  const chapter = tokens.reads(at + 1, 'kap', 'kapitlet', 'luvun', 'luku') ? tokens.skip(at + 2, '.') : at
  const outer = chapter === at ? [] : designationOf(`chapter-${tokens.text(at)}`, at).parts
  const elements: Element[] = []
  for (let index: number | undefined = chapter; index !== undefined && elements.length < LIST_MAX;) {
    const number = numberBefore(tokens, index, languages)
    if (number === undefined) return undefined
    const word = tokens.skip(tokens.skip(number.end, '.', "'"), ...ORDINAL_ENDINGS)
    const own = { ...number, parts: [...outer, ...number.parts], from: elements.length === 0 ? from : index }
    if (isDesignatorBehind(tokens.text(word), languages) && !tokens.isNumber(word + 1)) {
      const read = readDesignator(tokens, word)?.kind
      const kind = read === 'annex' || read === 'recital' ? read : 'sign'
      // `5. gr.`, and `6:519. §-a`: the ending of a case.
      const after = tokens.skip(word + 1, tokens.isSectionSign(word) ? '§' : '.')
      const ending = tokens.reads(after, '-', ':') && tokens.isGlued(after) && tokens.isWord(after + 1)
      const { parts, end: to } = readQualifiers(tokens, ending ? after + 2 : after)
      elements.push({ ...own, parts: [...own.parts, ...parts], to })
      const designator = { ...impliedDesignator(kind, at, elements.length > 1), ranged: true }
      return cite(tokens, { designator, elements }, before, aliases, kind === 'sign' ? 'certain' : 'needs act')
    }
    elements.push({ ...own, to: number.end })
    // `lagen 2010:800, 5 §`: another number.
    index = /^\d{1,3}[a-z]?$/.test(number.parts[0]?.text ?? '') ? afterConnector(tokens, number.end) : undefined
  }
  return undefined
}

/** The number before its word: `5`, `5.a`, `II`, and `5 a §`, where a letter stands apart. */
function numberBefore(tokens: TokenStream, at: number, languages: ReadonlySet<string>) {
  const roman = ROMAN_PARAGRAPH.test(tokens.raw(at)) ? readRoman(tokens.text(at)) : undefined
  if (roman !== undefined) return designationOf(String(roman), at + 1)
  // `5-бап`, `5-ci maddə`.
  const joined = tokens.reads(at + 1, '-') ? tokens.skip(at + 2, ...ORDINAL_ENDINGS) : at
  if (tokens.isNumber(at) && joined > at && isDesignatorBehind(tokens.text(joined), languages))
    return designationOf(tokens.text(at), joined)
  const number = tokens.isNumber(at) ? wholeNumber(tokens, at, readDesignation(tokens, at)) : undefined
  const [first, second] = number?.parts ?? []
  if (number === undefined || first === undefined) return undefined
  const isApart = /^[a-z]$/.test(tokens.text(number.end)) && isDesignatorBehind(tokens.text(number.end + 1), languages)
  if (isApart) return designationOf(first.text + tokens.text(number.end), number.end + 1)
  return /^[a-z]$/.test(second?.text ?? '') ? designationOf(`${first.text}${second?.text}`, number.end) : number
}

/** `First Schedule to the Act`, `26th recital`: only an act beside it tells what is counted. */
function readOrdinalFirst(tokens: TokenStream, at: number, aliases: ActAliases, from: number, before?: ActMention) {
  const ordinal = readOrdinal(tokens, at)
  if (ordinal === undefined) return undefined
  const word = readDesignator(tokens, ordinal.end)
  if (word === undefined || tokens.isNumber(word.end)) return undefined
  const isOf = word.kind === 'article' && tokens.reads(word.end, 'of', 'du', 'de', 'del')
  if (word.plural || !(isOf || /^(?:schedule|annex|recital)$/.test(word.kind))) return undefined
  const provisions = { designator: impliedDesignator(word.kind, at), elements: [{ ...ordinal, from, to: word.end }] }
  const reading = cite(tokens, provisions, before, aliases, 'needs act')
  return reading?.citations.some(({ act }) => act === undefined) === true ? undefined : reading
}
