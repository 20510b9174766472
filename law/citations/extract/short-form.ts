import { measureOf } from '#core/index/analysis/request-words.ts'
import { familyOf } from '#law/citations/citation.ts'
import type { ActMention, Reading } from '#law/citations/citation.ts'
import type { TokenStream } from '#law/citations/lexer/tokens.ts'
import { readAct } from '#law/citations/names/acts.ts'
import type { ActAliases } from '#law/citations/names/aliases.ts'
import { impliedDesignator } from '#law/citations/provisions/designators.ts'
import { readFirst, readList } from '#law/citations/provisions/lists.ts'
import { readDesignation } from '#law/citations/provisions/numbers.ts'
import type { Part } from '#law/citations/provisions/numbers.ts'
import { readQualifiers } from '#law/citations/provisions/qualifiers.ts'
import { finish, withAct } from './citations.ts'

/**
 * Reads the short-form citation `7.1.1(1)(c)` or `1024.15(b)`, which has no designator: three numbers and a bracket are neither a version nor an
 * amount. An unknown code before it names an unresolved act.
 */
export function readShortRule(tokens: TokenStream, at: number, aliases: ActAliases): Reading | undefined {
  if (!tokens.isNumber(at) || tokens.isGlued(at)) return undefined
  const designation = readDesignation(tokens, at)
  const points = designation?.parts.filter((part) => part.kind === 'main').length ?? 0
  const isBracketed = designation !== undefined && points > 0 && points < designation.parts.length
  if (!isBracketed || (points < 3 && !isListedSection(designation.parts, aliases))) return undefined
  const designator = impliedDesignator('rule', at)
  const code = tokens.raw(at - 1)
  if (points < 3 || !/^\p{Lu}{2,}/u.test(code))
    return finish(tokens, designator, readList(tokens, designator), undefined, aliases, 'certain')
  return /^\p{Lu}{2,6}$/u.test(code)
    ? withAct(tokens, readList(tokens, designator), designator, `name:${code.toLowerCase()}`, at - 1)
    : undefined
}

/** `1024.15(b)(1)`: the number of a part that the corpus has, its section and a paragraph. */
function isListedSection([part, ...rest]: readonly Part[], aliases: ActAliases): boolean {
  return (
    rest[0]?.kind === 'main' && /^\d{4}$/.test(part?.text ?? '') && aliases.actOfPart(part?.text ?? '') !== undefined
  )
}

/** Reads `L. 3121-27 du code du travail` without the word article. It counts only with its act. */
export function readShortSeries(tokens: TokenStream, at: number, aliases: ActAliases): Reading | undefined {
  if (!/^[LRD]$/.test(tokens.raw(at))) return undefined
  const designator = impliedDesignator('article', at)
  const [first, ...rest] = readList(tokens, designator)
  return first?.parts[0]?.text.includes('-') === true
    ? finish(tokens, designator, [first, ...rest], undefined, aliases, 'needs act')
    : undefined
}

/** Families whose acts are cited by one number: `GDPR 17`, `BGB 280`, `C. civ. 1382`. */
const NUMBERED_FAMILIES: readonly string[] = ['eu', 'de', 'fr']
/** Families whose numbers also stand before their acts: `280 BGB`, `1382 du code civil`. */
const NUMBERED_BEFORE: readonly string[] = ['de', 'fr']
const ENDS: readonly string[] = ['?', '!', ':', ',', ';', '.', '(', ')', ']', '–', '-']
const PREPOSITIONS: readonly string[] = ['du', 'des', 'of', 'the']

/**
 * Reads what counts only if the corpus holds it: `1009.3`, a section of a part that the corpus has, and a number before
 * a national act.
 */
export function readShortNumber(tokens: TokenStream, at: number, aliases: ActAliases): Reading | undefined {
  if (!tokens.isNumber(at) || tokens.isGlued(at)) return undefined
  const designation = readDesignation(tokens, at)
  if (designation === undefined || tokens.reads(at - 1, '$', '€', '£')) return undefined
  const next = tokens.get(designation.end)
  if (isListedSection(designation.parts, aliases) && measureOf(next?.text ?? '') === undefined) {
    const designator = impliedDesignator('rule', at)
    return heldOnly(finish(tokens, designator, readList(tokens, designator), undefined, aliases, 'needs act'))
  }
  if (designation.parts.length > 1 || isYear(tokens, at) || isValue(tokens, at)) return undefined
  const element = readFirst(tokens, impliedDesignator('sign', at))
  const act = element && readAct(tokens, afterPrepositions(tokens, element.to), aliases)
  if (act === undefined || act.path !== undefined || !NUMBERED_BEFORE.includes(familyOf(act.act))) return undefined
  const after = tokens.get(act.end)
  return after?.glued === true && (after.kind !== 'sign' || after.text === '-')
    ? undefined
    : heldOnly(numbered(tokens, at, at, act, act.end))
}

/** Reads one number after an act, which counts only if the corpus holds it: `GDPR 17`, `BGB 280`. */
export function readSingleNumber(tokens: TokenStream, from: number, act: ActMention): Reading | undefined {
  if (act.code === true || !NUMBERED_FAMILIES.includes(familyOf(act.act)) || isYear(tokens, act.end)) return undefined
  const designation = readDesignation(tokens, act.end)
  if (designation === undefined || !tokens.isNumber(act.end)) return undefined
  const next = tokens.get(designation.end)
  const isEnd = next === undefined || (next.kind === 'sign' && ENDS.includes(next.text))
  const isLong =
    (tokens.get(act.end)?.text.length ?? 0) > 2 && next?.kind === 'word' && measureOf(next.text) === undefined
  return isEnd || isLong ? heldOnly(numbered(tokens, act.end, from, act, designation.end)) : undefined
}

function numbered(
  tokens: TokenStream,
  at: number,
  from: number,
  { act }: ActMention,
  end: number,
): Reading | undefined {
  const designator = impliedDesignator(familyOf(act) === 'de' ? 'sign' : 'article', at)
  const first = readFirst(tokens, designator)
  return first && withAct(tokens, [{ ...first, to: end }], designator, act, from)
}

function heldOnly(reading: Reading | undefined): Reading | undefined {
  return (
    reading && {
      ...reading,
      citations: reading.citations.map((citation) => ({ ...citation, confidence: 'if held' })),
    }
  )
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
  let index = at
  while (index < at + 2 && PREPOSITIONS.includes(tokens.text(index))) index += 1
  return index
}
