import type { ActMention } from '#law/citations/citation.ts'
import type { TokenStream } from '#law/citations/lexer/tokens.ts'

/** Letter of the act's type in a CELEX number (EUR-Lex, "CELEX numbers": sector 3, year, type, number). */
const TYPES: ReadonlyMap<string, string> = new Map([
  ...'regulation regulations verordnung verordnungen durchfuhrungsverordnung reglement reglements vo reg'
    .split(' ')
    .map((word): [string, string] => [word, 'R']),
  ...['directive', 'directives', 'richtlinie', 'richtlinien', 'rl', 'dir'].map((word): [string, string] => [word, 'L']),
  ...['decision', 'decisions', 'beschluss', 'beschlusses'].map((word): [string, string] => [word, 'D']),
  ...['recommendation', 'empfehlung', 'recommandation'].map((word): [string, string] => [word, 'H']),
])
/** Number of tokens before a number in which a list of acts may name its type. */
const TYPE_BEFORE_MAX = 24
const ELI_TYPES: ReadonlyMap<string, string> = new Map([
  ['reg', 'R'],
  ['dir', 'L'],
  ['dec', 'D'],
])
const COMMUNITIES = new Set(['eu', 'ec', 'eec', 'eg', 'ewg', 'ue', 'ce', 'cee', 'euratom'])
const CELEX_TYPE = /^[a-z]{1,2}$/
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

/** A consolidated text (sector 0, with a date) is read as the act itself. */
function readCelex(tokens: TokenStream, at: number): ActMention | undefined {
  const start = tokens.reads(at, 'celex') && tokens.reads(at + 1, ':', '=') ? at + 2 : at
  const [sector, type, number] = [tokens.get(start), tokens.get(start + 1), tokens.get(start + 2)]
  if (sector === undefined || !/^[0-9](?:19|20)\d{2}$/.test(sector.text)) return undefined
  if (type?.glued !== true || !CELEX_TYPE.test(type.text) || number?.glued !== true || !/^\d{4}$/.test(number.text))
    return undefined
  if (tokens.isGlued(start + 3) && tokens.isWord(start + 3)) return undefined
  const isDated =
    tokens.reads(start + 3, '-') && tokens.isGlued(start + 4) && tokens.digits(start + 4, 8, 8) !== undefined
  const act = `celex:${sector.text.replace(/^0/, '3')}${type.text.toUpperCase()}${number.text}`
  return { act, end: isDated ? start + 5 : start + 3, standalone: true, sections: undefined }
}

function readNumbered(tokens: TokenStream, at: number): ActMention | undefined {
  const ownType = TYPES.get(tokens.text(at))
  const index = ownType === undefined ? at : afterKind(tokens, at + 1)
  const community = readCommunity(tokens, index)
  const afterCommunity = community ?? index
  const afterNo = afterNumberWord(tokens, afterCommunity)
  const type = ownType ?? typeBefore(tokens, at) ?? (community === undefined ? 'L' : 'R')
  const mention = readNumbers(tokens, afterNo, type, afterNo > afterCommunity, community !== undefined)
  const isNamed =
    ownType !== undefined || community !== undefined || COMMUNITIES.has(tokens.text((mention?.end ?? 0) - 1))
  return isNamed ? mention : undefined
}

/** `règlement délégué (UE) 2017/565`, `règlement d'exécution (UE) 2022/1463`. */
function afterKind(tokens: TokenStream, at: number): number {
  const isExecution = tokens.reads(at, 'd') && tokens.reads(at + 2, 'execution')
  return isExecution ? at + 3 : tokens.skip(at, 'delegue', '.')
}

/** Returns the type at the start of the list that contains this number: `Directives 2013/36/EU and 2014/59/EU`. */
function typeBefore(tokens: TokenStream, at: number): string | undefined {
  for (let index = at - 1; index >= Math.max(0, at - TYPE_BEFORE_MAX); index -= 1) {
    const token = tokens.get(index)
    if (token === undefined) return undefined
    const type = TYPES.get(token.text)
    if (type !== undefined) return type
    if (
      token.kind === 'word' &&
      !COMMUNITIES.has(token.text) &&
      !['and', 'or', 'und', 'oder', 'et', 'ou', 'no', 'nr', 'n'].includes(token.text)
    )
      return undefined
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

function afterNumberWord(tokens: TokenStream, at: number): number {
  return tokens.reads(at, 'no', 'nr', 'n') ? tokens.skip(at + 1, '.', '°', 'o') : at
}

function readNumbers(
  tokens: TokenStream,
  at: number,
  type: string,
  numbered: boolean,
  community: boolean,
): ActMention | undefined {
  const first = tokens.digits(at, 1, 4)
  const second = tokens.digits(at + 2, 1, 4)
  if (first === undefined || second === undefined || !tokens.reads(at + 1, '/')) return undefined
  const suffix = tokens.reads(at + 3, '/') && COMMUNITIES.has(tokens.text(at + 4)) ? at + 5 : at + 3
  const next = tokens.get(suffix)
  if (next?.glued === true && (next.kind !== 'sign' || (next.text === '/' && tokens.isGlued(suffix + 1))))
    return undefined
  const isNumberFirst =
    type === 'R'
      ? isYear(second) && (numbered || Number(first) < YEAR_FIRST_SINCE || !isYear(first))
      : numbered && isYear(second)
  const [year, number] = isNumberFirst ? [fullYear(second), first] : [fullYear(first), second]
  if (year === undefined || number === undefined || (!community && suffix === at + 3 && year.length !== 4))
    return undefined
  return { act: `celex:3${year}${type}${number.padStart(4, '0')}`, end: suffix, standalone: true, sections: undefined }
}

function isYear(digits: string): boolean {
  return fullYear(digits) !== undefined
}

/** Two-digit years are of the 20th century (`95/46/EC`, `2913/92`). */
function fullYear(digits: string): string | undefined {
  if (digits.length === 2) return Number(digits) >= YEAR_MIN % 100 ? `19${digits}` : undefined
  return digits.length === 4 && Number(digits) >= YEAR_MIN && Number(digits) <= YEAR_MAX ? digits : undefined
}

/** Reads a European Legislation Identifier with the subdivisions of EUR-Lex: `eli/reg/2016/679/art_6/par_1/pnt_f`. */
function readEli(tokens: TokenStream, at: number): ActMention | undefined {
  if (!tokens.reads(at, 'eli') || !tokens.reads(at + 1, '/')) return undefined
  const type = ELI_TYPES.get(tokens.text(at + 2))
  let index = at + 3
  while (tokens.reads(index, '_') && index < at + 9) index += 2
  const year = tokens.digits(index + 1, 4, 4)
  const number = tokens.digits(index + 3, 1, 4)
  if (
    type === undefined ||
    year === undefined ||
    number === undefined ||
    !tokens.reads(index, '/') ||
    !tokens.reads(index + 2, '/')
  )
    return undefined
  const { path, end } = readEliParts(tokens, index + 4)
  const isWhole = tokens.reads(end, '/') && tokens.isWord(end + 1) && tokens.isGlued(end + 1)
  return {
    act: `celex:3${year}${type}${number.padStart(4, '0')}`,
    end: isWhole ? end + 2 : end,
    standalone: true,
    sections: undefined,
    path,
  }
}

const ELI_PARTS: ReadonlyMap<string, string> = new Map([
  ['art', ''],
  ['par', ''],
  ['pnt', ''],
  ['rct', 'recital-'],
  ['anx', 'annex-'],
  ['cpt', 'chapter-'],
])

function readEliParts(tokens: TokenStream, at: number): { path: string[]; end: number } {
  const path: string[] = []
  let end = at
  while (path.length < 8 && tokens.reads(end, '/', '.')) {
    const prefix = ELI_PARTS.get(tokens.text(end + 1))
    const value = prefix === undefined ? end + 1 : end + 3
    const token = tokens.get(value)
    if (token === undefined || (prefix !== undefined && !tokens.reads(end + 2, '_'))) break
    if (prefix === undefined && (path.length === 0 || !tokens.reads(end, '.') || token.kind !== 'number')) break
    const suffix = tokens.get(value + 1)
    const isSuffixed =
      token.kind === 'number' && suffix?.glued === true && suffix.kind === 'word' && suffix.text.length <= 2
    path.push(`${prefix ?? ''}${token.text}${isSuffixed ? suffix.text : ''}`)
    end = value + (isSuffixed ? 2 : 1)
  }
  return { path, end }
}
