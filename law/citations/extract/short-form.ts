import { isRequestWord, measureOf } from '#core/index/analysis/request-words.ts'
import { familyOf, type ActMention, type Family, type Reading } from '#law/citations/citation.ts'
import type { TokenStream } from '#law/citations/lexer/tokens.ts'
import { readAct } from '#law/citations/names/acts.ts'
import { matchNamed } from '#law/citations/lexer/patterns.ts'
import type { ActAliases } from '#law/citations/names/aliases.ts'
import { impliedDesignator, type DesignatorKind } from '#law/citations/provisions/designators.ts'
import { readFirst, readList, type Provisions } from '#law/citations/provisions/lists.ts'
import { readDesignation, type Part } from '#law/citations/provisions/numbers.ts'
import { readQualifiers } from '#law/citations/provisions/qualifiers.ts'
import { cite, citeInAct } from './citations.ts'

const ENDS = /^[?!:,;.()\]–-]$/

/** Reads a short-form citation, which has no word for the kind of its provision. */
export function readShortForm(tokens: TokenStream, at: number, aliases: ActAliases): Reading | undefined {
  return (
    readVolume(tokens, at, aliases) ??
    readShortRule(tokens, at, aliases) ??
    readShortNumber(tokens, at, aliases) ??
    readShortSeries(tokens, at, aliases)
  )
}

/** `12 NYCRR 1026.5`, `625 ILCS 5/11-501`: the volume of a code that no table has, and a number with parts. */
function readVolume(tokens: TokenStream, at: number, aliases: ActAliases): Reading | undefined {
  const end = startsNumber(tokens, at) ? matchNamed(tokens, at, 'volume')?.end : undefined
  if (end === undefined || aliases.find(tokens, at + 1) !== undefined) return undefined
  const designator = impliedDesignator('section', end)
  return citeInAct(tokens, { designator, elements: readList(tokens, designator) }, `name:${tokens.words(at, end)}`, at)
}

/**
 * Reads `7.1.1(1)(c)` or `1024.15(b)`: three numbers and a bracket are neither a version nor an amount. An unknown code
 * before it names an unresolved act.
 */
export function readShortRule(tokens: TokenStream, at: number, aliases: ActAliases): Reading | undefined {
  const parts = startsNumber(tokens, at) ? (readDesignation(tokens, at)?.parts ?? []) : []
  const points = parts.filter(({ kind }) => kind === 'main').length
  const isRule = points > 2 || isListedSection(parts, aliases)
  if (!isRule || points === parts.length) return undefined
  const code = tokens.raw(at - 1)
  if (points < 3 || !/^\p{Lu}{2,}/u.test(code)) return cite(tokens, rulesAt(tokens, at), undefined, aliases, 'certain')
  return /^\p{Lu}{2,6}$/u.test(code)
    ? citeInAct(tokens, rulesAt(tokens, at), `name:${code.toLowerCase()}`, at - 1)
    : undefined
}

function rulesAt(tokens: TokenStream, at: number): Provisions {
  const designator = impliedDesignator('rule', at)
  return { designator, elements: readList(tokens, designator) }
}

function startsNumber(tokens: TokenStream, at: number): boolean {
  return tokens.isNumber(at) && !tokens.isGlued(at)
}

/** `1024.15(b)(1)`: the number of a part that the corpus has, its section and a paragraph. */
function isListedSection([part, section]: readonly Part[], aliases: ActAliases): boolean {
  if (part === undefined || section?.kind !== 'main' || !/^\d{4}$/.test(part.text)) return false
  return aliases.actOfPart(part.text) !== undefined
}

/** Reads `L. 3121-27 du code du travail` without the word article. It counts only with its act. */
function readShortSeries(tokens: TokenStream, at: number, aliases: ActAliases): Reading | undefined {
  if (!/^[LRD]$/.test(tokens.raw(at))) return undefined
  const designator = impliedDesignator('article', at)
  const elements = readList(tokens, designator)
  const isSeries = elements[0]?.parts[0]?.text.includes('-') === true
  return isSeries ? cite(tokens, { designator, elements }, undefined, aliases, 'needs act') : undefined
}

/**
 * Reads what counts only if the corpus holds it: `1009.3`, a section of a part that the corpus has, and a number before
 * a national act (`280 BGB`, `1382 du code civil`).
 */
function readShortNumber(tokens: TokenStream, at: number, aliases: ActAliases): Reading | undefined {
  const designation = startsNumber(tokens, at) ? readDesignation(tokens, at) : undefined
  if (designation === undefined || tokens.reads(at - 1, '$', '€', '£')) return undefined
  if (isListedSection(designation.parts, aliases) && measureOf(tokens.text(designation.end)) === undefined)
    return heldOnly(cite(tokens, rulesAt(tokens, at), undefined, aliases, 'needs act'))
  if (designation.parts.length > 1 || isYear(tokens, at) || isValue(tokens, at)) return undefined
  const element = readFirst(tokens, impliedDesignator('sign', at))
  const act = element && readAct(tokens, afterPrepositions(tokens, element.to), aliases)
  if (act === undefined || act.path !== undefined || !/^(?:de|fr)$/.test(familyOf(act.act))) return undefined
  return tokens.isContinued(act.end, '-') ? undefined : heldOnly(readNumberOf(tokens, at, at, act, act.end))
}

/** Reads one number after an act, which counts only if the corpus holds it: `GDPR 17`, `C. civ. 1382`, `KP 21`. */
export function readSingleNumber(tokens: TokenStream, from: number, act: ActMention): Reading | undefined {
  const isNumbered = act.code === true ? act.cased === true : /^(?:eu|de|fr)$/.test(familyOf(act.act))
  if (!isNumbered || isYear(tokens, act.end)) return undefined
  const end = tokens.isNumber(act.end) ? readDesignation(tokens, act.end)?.end : undefined
  if (end === undefined) return undefined
  const isEnd = end === tokens.length || ENDS.test(tokens.text(end))
  const isLong = tokens.text(act.end).length > 2 && tokens.isWord(end) && measureOf(tokens.text(end)) === undefined
  const isAsked = act.code === true && isRequestWord(tokens.text(end))
  const number = tokens.slice(act.end, end).map(({ text }) => text)
  const isRaised = number.some((text) => text.startsWith('^'))
  if (!isEnd && !isLong && !isAsked && !isRaised) return undefined
  const reading = readNumberOf(tokens, act.end, from, act, end)
  // `KP 183`, `KP 18³`: a code in capitals with a number that counts nothing names a rule, held or not.
  const isRule = act.code === true && (isRaised || ((isEnd || isAsked) && /^\d{3}$/.test(number.join(''))))
  return isRule || reading === undefined ? reading : heldOnly(reading)
}

function readNumberOf(
  tokens: TokenStream,
  at: number,
  from: number,
  { act }: ActMention,
  end: number,
): Reading | undefined {
  const kinds: Partial<Record<Family, DesignatorKind>> = { de: 'sign', rulebook: 'rule' }
  const designator = impliedDesignator(kinds[familyOf(act)] ?? 'article', at)
  const first = readFirst(tokens, designator)
  return first && citeInAct(tokens, { designator, elements: [{ ...first, to: end }] }, act, from)
}

function heldOnly(reading: Reading | undefined): Reading | undefined {
  return reading && { ...reading, citations: reading.citations.map((each) => ({ ...each, confidence: 'if held' })) }
}

/** `Abs. 1 BGB`: the number of a part. */
function isValue(tokens: TokenStream, at: number): boolean {
  return readQualifiers(tokens, tokens.reads(at - 1, '.') ? at - 2 : at - 1).end > at
}

/** `Code civil 1804`, `GDPR 2018`: a year of an act. */
function isYear(tokens: TokenStream, at: number): boolean {
  return tokens.isYear(at) && !tokens.isGlued(at + 1)
}

function afterPrepositions(tokens: TokenStream, at: number): number {
  return tokens.skip(tokens.skip(at, 'du', 'des', 'of', 'the'), 'du', 'des', 'of', 'the')
}
