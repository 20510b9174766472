import { numberedAct, type ActMention } from '#law/citations/citation.ts'
import type { TokenStream } from '#law/citations/lexer/tokens.ts'
import WORDS from '#law/citations/lexer/words.json' with { type: 'json' }

/** Letter of the act's type in a CELEX number (EUR-Lex, "CELEX numbers": sector 3, year, type, number). */
const TYPES: ReadonlyMap<string, string> = new Map(
  Object.entries(WORDS.celex_types).flatMap(([letter, words]) =>
    words.split(' ').map((word) => [word, letter] as const),
  ),
)
/** Number of tokens before a number in which a list of acts may name its type. */
const TYPE_BEFORE_MAX = 24
const COMMUNITIES = new Set(['eu', 'ec', 'eec', 'eg', 'ewg', 'ue', 'ce', 'cee', 'euratom'])
const BETWEEN_NUMBERS = new Set([...COMMUNITIES, 'and', 'or', 'und', 'oder', 'et', 'ou', 'no', 'nr', 'n'])
const YEAR_MIN = 1951
const YEAR_MAX = 2099
/** From this year regulations are cited as year/number, before it as number/year. */
const YEAR_FIRST_SINCE = 2015

/**
 * Reads `Regulation (EU) 2016/679`, `Richtlinie 2009/65/EG`, `(EU) 2022/2554`, `32016R0679`,
 * `…/eli/reg/2016/679/art_6`.
 */
export function readEuAct(tokens: TokenStream, at: number): ActMention | undefined {
  return readCelex(tokens, at) ?? readNumbered(tokens, at) ?? readEli(tokens, at)
}

const CELEX = /^([0-9](?:19|20)\d{2})([a-z]{1,2})(\d{4})(?:-\d{8})?(?![a-z])/

/** A consolidated text (sector 0, with a date) is read as the act itself. */
function readCelex(tokens: TokenStream, at: number): ActMention | undefined {
  const start = tokens.reads(at, 'celex') && tokens.reads(at + 1, ':', '=') ? at + 2 : at
  const found = tokens.digits(start, 5, 5) === undefined ? undefined : tokens.match(start, CELEX)
  if (found === undefined) return undefined
  const [, year = '', type = '', number] = found.groups
  return numberedAct(`celex:${year.replace(/^0/, '3')}${type.toUpperCase()}${number}`, found.end)
}

function readNumbered(tokens: TokenStream, at: number): ActMention | undefined {
  const ownType = TYPES.get(tokens.text(at))
  const index = ownType === undefined ? at : afterKind(tokens, at + 1)
  const community = readCommunity(tokens, index)
  const afterCommunity = community ?? index
  const afterNo = tokens.reads(afterCommunity, 'no', 'nr', 'n')
    ? tokens.skip(afterCommunity + 1, '.', '°', 'o')
    : afterCommunity
  const type = ownType ?? typeBefore(tokens, at) ?? (community === undefined ? 'L' : 'R')
  const mention = readNumbers(tokens, afterNo, type, afterNo > afterCommunity, community !== undefined)
  const isNamed =
    ownType !== undefined || community !== undefined || COMMUNITIES.has(tokens.text((mention?.end ?? 0) - 1))
  return isNamed ? mention : undefined
}

/** `règlement délégué (UE) 2017/565`, `règlement d'exécution (UE) 2022/1463`. */
function afterKind(tokens: TokenStream, at: number): number {
  return tokens.reads(at, 'd') && tokens.reads(at + 2, 'execution') ? at + 3 : tokens.skip(at, 'delegue', '.')
}

/** Returns the type at the start of the list that contains this number: `Directives 2013/36/EU and 2014/59/EU`. */
function typeBefore(tokens: TokenStream, at: number): string | undefined {
  for (let index = at - 1; index >= Math.max(0, at - TYPE_BEFORE_MAX); index -= 1) {
    const type = TYPES.get(tokens.text(index))
    if (type !== undefined || (tokens.isWord(index) && !BETWEEN_NUMBERS.has(tokens.text(index)))) return type
  }
  return undefined
}

/** `(EU)`, `(UE)`, `(EG)`, in brackets, or before a number: `EU 2016/679`. */
function readCommunity(tokens: TokenStream, at: number): number | undefined {
  if (COMMUNITIES.has(tokens.text(at))) return tokens.digits(at + 1, 1, 4) === undefined ? undefined : at + 1
  const isBracketed = tokens.reads(at, '(') && COMMUNITIES.has(tokens.text(at + 1))
  if (!isBracketed) return undefined
  const close = tokens.reads(at + 2, ',') && COMMUNITIES.has(tokens.text(at + 3)) ? at + 4 : at + 2
  return tokens.reads(close, ')') ? close + 1 : undefined
}

const NUMBERS = /^(\d{1,4})\/(\d{1,4})(?:\/(eu|ec|eec|eg|ewg|ue|ce|cee|euratom))?(?![\p{L}\p{Nd}]|\/.)/u

function readNumbers(tokens: TokenStream, at: number, type: string, numbered: boolean, community: boolean) {
  const found = tokens.isNumber(at) ? tokens.match(at, NUMBERS) : undefined
  if (found === undefined) return undefined
  const [, first = '', second = '', suffix] = found.groups
  const isYearSecond = fullYear(second) !== undefined
  const isOld = Number(first) < YEAR_FIRST_SINCE || fullYear(first) === undefined
  const isNumberFirst = isYearSecond && (numbered || (type === 'R' && isOld))
  const [year, number] = isNumberFirst ? [fullYear(second), first] : [fullYear(first), second]
  if (year === undefined || (!community && suffix === '' && year.length !== 4)) return undefined
  return numberedAct(`celex:3${year}${type}${number.padStart(4, '0')}`, found.end)
}

/** Two-digit years are of the 20th century (`95/46/EC`, `2913/92`). */
function fullYear(digits: string): string | undefined {
  if (digits.length === 2) return Number(digits) >= YEAR_MIN % 100 ? `19${digits}` : undefined
  return digits.length === 4 && Number(digits) >= YEAR_MIN && Number(digits) <= YEAR_MAX ? digits : undefined
}

const ELI_PREFIXES: Readonly<Record<string, string>> = { rct: 'recital-', anx: 'annex-', cpt: 'chapter-' }
const ELI =
  /^eli\/(reg|dir|dec)(?:_[a-z]+)*\/(\d{4})\/(\d{1,4})((?:[/.](?:art|par|pnt|rct|anx|cpt)_(?:\d+[a-z]{0,2}|[a-z]+)|\.\d+)*)(?:\/[a-z]+)?/
const ELI_PART = /[/.](?:(art|par|pnt|rct|anx|cpt)_)?(\w+)/g

/** Reads a European Legislation Identifier with the subdivisions of EUR-Lex: `eli/reg/2016/679/art_6/par_1/pnt_f`. */
function readEli(tokens: TokenStream, at: number): ActMention | undefined {
  const found = tokens.reads(at, 'eli') ? tokens.match(at, ELI) : undefined
  if (found === undefined) return undefined
  const [, type = '', year, number = '', parts = ''] = found.groups
  const path = [...parts.matchAll(ELI_PART)].map(([, kind = '', value = '']) => `${ELI_PREFIXES[kind] ?? ''}${value}`)
  return { ...numberedAct(`celex:3${year}${TYPES.get(type)}${number.padStart(4, '0')}`, found.end), path }
}
