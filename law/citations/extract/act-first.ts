import { familyOf, type ActMention, type Citation, type Reading } from '#law/citations/citation.ts'
import { FUNCTION_WORD_FORMS, type TokenStream } from '#law/citations/lexer/tokens.ts'
import { readAct } from '#law/citations/names/acts.ts'
import type { ActAliases } from '#law/citations/names/aliases.ts'
import { endOfNonStatutory } from '#law/citations/names/non-statutory.ts'
import { explainsDistantly, readUnresolvedBefore } from '#law/citations/names/unresolved.ts'
import { impliedDesignator, readDesignator, tableAt } from '#law/citations/provisions/designators.ts'
import { readList } from '#law/citations/provisions/lists.ts'
import { readDesignation, wholeNumber, type Part } from '#law/citations/provisions/numbers.ts'
import { ROMAN_PARAGRAPH } from '#law/citations/provisions/roman.ts'
import { citeInAct, cite } from './citations.ts'
import { readProvision } from './provision.ts'
import { readShortRule, readSingleNumber } from './short-form.ts'
import { isDesignatorBehind, isLink, languagesIn } from '#law/citations/lexer/languages.ts'
import { readQualifiers } from '#law/citations/provisions/qualifiers.ts'

const BETWEEN = new Set([',', ':', '(', '–', '-', "'", 's', 'in'])
const BETWEEN_MAX = 3
const ORDINAL =
  /^(?:prim(?:er|eir)?|segund|second|terc(?:er|eir)|terz|quart|cuart|quint|se[xs]t|se(?:p|t)?tim|o(?:i|t|c)tav|noven|non|decim)[oa]$/

/** Reads the citation that starts with an act: `GDPR Art. 6`, `15 U.S.C. 1601`, `AML 8.3.3`, or the act alone. */
export function readActFirst(tokens: TokenStream, at: number, aliases: ActAliases): Reading | undefined {
  const mention = readAct(tokens, at, aliases)
  if (mention === undefined) return undefined
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
    readAfter(tokens, mention.end, (index) => readProvisionOf(tokens, index, at, mention, aliases)) ??
    (mention.standalone ? (readUnreadPart(tokens, at, mention, aliases) ?? alone) : undefined)
  )
}

/**
 * Reads `disposición final 5` before `de la Ley …`, in languages without a grammar of their own: a part of the act by
 * words that no table has. Only a label of the same words names it, so another provision of the act never supports it.
 */
function readUnreadPart(tokens: TokenStream, at: number, mention: ActMention, aliases: ActAliases) {
  const codes = languagesIn(tokens, aliases.languages)
  let end = at
  while (end > Math.max(0, at - BETWEEN_MAX) && isLink(tokens.text(end - 1), codes)) end -= 1
  const isArabic = tokens.isNumber(end - 1) && !tokens.isYear(end - 1)
  const word = tokens.text(end - 2)
  if (end === at || !tokens.isWord(end - 2) || FUNCTION_WORD_FORMS.has(word) || isLink(word, codes)) return undefined
  const isWritten = ORDINAL.test(tokens.text(end - 1)) && readDesignator(tokens, end - 2) === undefined
  if (!isArabic && !isWritten && !ROMAN_PARAGRAPH.test(tokens.raw(end - 1))) return undefined
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
  const reading = readAfter(tokens, mention.end, (index) => readProvisionOf(tokens, index, at, mention, aliases))
  // A listed act within a longer name is read where it begins.
  if (reading !== undefined || mention.standalone) return reading
  return explainsDistantly(tokens, at, mention)
    ? actAlone(at, mention, 'needs act')
    : { citations: [], end: mention.end }
}

/** Passes over a non-statutory source and the provision after it, unless that provision has an act of its own. */
export function passSource(tokens: TokenStream, at: number, aliases: ActAliases): Reading | undefined {
  const source = endOfNonStatutory(tokens, at)
  if (source === undefined) return undefined
  const reading = readAfter(
    tokens,
    source,
    (index) => readProvision(tokens, index, index, undefined, aliases) ?? readShortRule(tokens, index, aliases),
  )
  const isOfAct = reading?.citations.some(({ act }) => act !== undefined) === true
  return { citations: [], end: reading === undefined || isOfAct ? source : reading.end }
}

function readProvisionOf(
  tokens: TokenStream,
  at: number,
  from: number,
  act: ActMention,
  aliases: ActAliases,
): Reading | undefined {
  return readNumberFirst(tokens, at, aliases, from, act) ?? readProvision(tokens, at, from, act, aliases)
}

function actAlone(from: number, { act, end, path = [] }: ActMention, confidence: Citation['confidence']): Reading {
  return { citations: [{ from, to: end, kind: 'act', path, act, confidence, pointed: false }], end }
}

/** Reads what follows an act, perhaps after a mark: `GDPR, Art. 6`, `EMIR's Article 9`. */
function readAfter(
  tokens: TokenStream,
  end: number,
  read: (index: number) => Reading | undefined,
): Reading | undefined {
  for (let index = end; index <= end + BETWEEN_MAX; index += 1) {
    const reading = read(index)
    if (reading !== undefined || !BETWEEN.has(tokens.text(index))) return reading
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
 * Reads a provision whose word stands behind its number: `36 §`, `3 kap. 5 §`, `5. pants`, `6:519. §`.
 * @param from where the citation begins, with its act before it.
 */
export function readNumberFirst(
  tokens: TokenStream,
  at: number,
  aliases: ActAliases,
  from = at,
  before?: ActMention,
): Reading | undefined {
  const languages = languagesIn(tokens, aliases.languages)
  if (languages.size === 0 || !tokens.isNumber(at)) return undefined
  const chapter = tokens.reads(at + 1, 'kap', 'kapitlet', 'luvun', 'luku') ? tokens.skip(at + 2, '.') : at
  const number = wholeNumber(tokens, chapter, readDesignation(tokens, chapter))
  if (number === undefined) return undefined
  // `5 a §`: a letter apart.
  const isLetter = /^[a-z]$/.test(tokens.raw(number.end)) && isDesignatorBehind(tokens.text(number.end + 1), languages)
  const word = tokens.skip(isLetter ? number.end + 1 : number.end, '.')
  if (!isDesignatorBehind(tokens.text(word), languages) || tokens.isNumber(word + 1)) return undefined
  const [first, ...rest] = number.parts
  if (first === undefined) return undefined
  const own = isLetter ? { ...first, text: `${first.text}${tokens.text(number.end)}` } : first
  const outer: Part[] = chapter === at ? [] : [{ text: `chapter-${tokens.text(at)}`, kind: 'main', keyword: '' }]
  // `6:519. §-a`: the ending of a case.
  const end = tokens.reads(word + 1, '-') && tokens.isGlued(word + 1) && tokens.isWord(word + 2) ? word + 3 : word + 1
  const more = readQualifiers(tokens, end)
  const element = { parts: [...outer, own, ...rest, ...more.parts], from, to: more.end }
  return cite(tokens, { designator: impliedDesignator('sign', at), elements: [element] }, before, aliases, 'certain')
}
