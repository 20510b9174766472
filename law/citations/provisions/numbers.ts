import type { TokenStream } from '#law/citations/lexer/tokens.ts'
import { ROMAN_PARAGRAPH } from './roman.ts'

/** Longer designations are cut; no provision has more levels. */
const PARTS_MAX = 16

/**
 * One part of a provision's number, and how it was written. Lists replace parts of the same kind (`12(1) and (2)`,
 * `Abs. 1 und 2`).
 */
export interface Part {
  readonly text: string
  readonly kind: 'main' | 'digit' | 'letter'
  /** Level of the keyword before it (`paragraph`, `point`); '' for a part in brackets or after a point. */
  readonly keyword: string
}

export interface Designation {
  readonly parts: readonly Part[]
  readonly end: number
  /** Two numbers joined by a hyphen: one number in France and the United States Code, a range elsewhere. */
  readonly hyphen: boolean
}

/** A letter, or digits with their suffix. */
interface Piece {
  readonly text: string
  readonly end: number
  readonly hyphen: boolean
}

/**
 * Abbreviation of a national act, which ends with the capital of `Gesetz`, `Buch` or `Ordnung`: `InsO`, `BGB`. Acts of
 * the EU end with `VO`; the exceptions are legal forms of companies.
 */
const NATIONAL_ACT = /^(?!(?:AG|KG|OHG|UG|EG)$)\p{Lu}\p{L}{0,8}(?:\p{L}[GB]|[GB]|[^V]O)$/u
const SUFFIX = /^(?:[a-z]{1,2}|([a-z])\1{2,3})$/
const COUNTING = new Set('st nd rd th km kg mg ml cm mm gb mb k m h x am pm er re eme'.split(' '))
const INSERTED = /^(?:bis|ter|quater|(?:quinqu|sex|sept|oct|no[nv]|vic|tric|[a-z]*dec)ies)$/
const FRENCH_SERIES = new Set(['l', 'r', 'd', 'a'])
const LETTER_ENDS: readonly string[] = [',', ';', ':', '?', ')', '–', 'und', 'oder', 'bis', 'ff']
const LETTER_APART_ENDS = /^(?:,|de|du|del|della|do|da|of|van|)$/
const BRACKETED = /^(?:\d{1,3}[a-z]{0,2}|[a-z]|([a-z])\1{1,3}|z[a-z]|[ivxl]{2,7})$/

/**
 * Reads the number of a provision with the brackets after it: `6`, `25a`, `1681a`, `6.5.2`, `L. 121-1`, `A4.12.8`,
 * `2000e-2`.
 * @param dashed a dash before digits is a hyphen, as the United States Code prints it: `254l–1`.
 */
export function readDesignation(tokens: TokenStream, at: number, dashed = false): Designation | undefined {
  const series = readSeries(tokens, at)
  const first = readPiece(tokens, series.end, dashed)
  const isListed = tokens.isSectionSign(at - 1) && tokens.reads(first?.end ?? at, ',')
  if (first === undefined || (!isListed && isQuantity(tokens, first.end))) return undefined
  const parts: Part[] = [{ text: series.prefix + first.text, kind: 'main', keyword: '' }]
  let { end } = first
  let hyphen = first.hyphen && series.prefix === ''
  while (parts.length < PARTS_MAX && tokens.reads(end, '.') && tokens.isGlued(end) && tokens.isGlued(end + 1)) {
    const next = beforeRange(tokens, readPiece(tokens, end + 1, dashed)) ?? readLetter(tokens, end + 1)
    if (next === undefined) break
    if (isQuantity(tokens, next.end)) return undefined
    hyphen = next.hyphen && /^\d+-\d+$/.test(next.text)
    parts.push({ text: next.text, kind: 'main', keyword: '' })
    end = next.end
  }
  const brackets = readBrackets(tokens, end)
  return {
    parts: [...parts, ...brackets.parts].slice(0, PARTS_MAX),
    end: brackets.end,
    hyphen: hyphen && brackets.parts.length === 0,
  }
}

/**
 * Reads `(1)(f)(iii)`. A space may precede a bracket (`6 (1)`) whose content can only be a part. A letter may follow
 * without brackets (`6(1)f`).
 */
export function readBrackets(tokens: TokenStream, at: number): { parts: Part[]; end: number } {
  const parts: Part[] = []
  let end = at
  while (parts.length < PARTS_MAX && tokens.reads(end, '(')) {
    const close = closingBracket(tokens, end)
    if (close === undefined) break
    const text = textOf(tokens, end + 1, close)
    if (!BRACKETED.test(text)) break
    parts.push({ text, kind: kindOf(text), keyword: '' })
    end = close + 1
  }
  const letter = parts.length > 0 && tokens.isGlued(end) ? readLetter(tokens, end) : undefined
  if (letter !== undefined) parts.push({ text: letter.text, kind: 'letter', keyword: '' })
  return { parts, end: letter?.end ?? end }
}

/** Reads one letter without brackets: `lit. f`, `point f`. */
export function readLetter(tokens: TokenStream, at: number): Piece | undefined {
  const token = tokens.get(at)
  if (token?.kind !== 'word' || !/^([a-z])\1?$/.test(token.text)) return undefined
  if (tokens.isContinued(at + 1, '-', "'")) return undefined
  return { text: token.text, end: at + 1, hyphen: false }
}

export function kindOf(text: string): 'digit' | 'letter' {
  return /^\d/.test(text) ? 'digit' : 'letter'
}

/**
 * Reads `L.`, `R.*`, `D` before a French number, `A` before one of an appendix. The letter becomes part of the number.
 */
function readSeries(tokens: TokenStream, at: number): { prefix: string; end: number } {
  const token = tokens.get(at)
  if (token?.kind !== 'word' || !FRENCH_SERIES.has(token.text)) return { prefix: '', end: at }
  const afterPoint = tokens.skip(tokens.skip(tokens.skip(at + 1, '.'), '*'), '.')
  if (!tokens.isNumber(afterPoint)) return { prefix: '', end: at }
  const isApart = afterPoint === at + 1 && !tokens.isGlued(afterPoint)
  return isApart && token.text === 'a' ? { prefix: '', end: at } : { prefix: token.text, end: afterPoint }
}

/**
 * Reads digits with a letter or a Latin suffix and, joined by hyphens, more digits: `25a`, `6 bis`, `121-1-2`,
 * `2000e-2`.
 */
function readPiece(tokens: TokenStream, at: number, dashed = false): Piece | undefined {
  const digits = tokens.digits(at, 1, 6)
  if (digits === undefined) return undefined
  const suffixed = readSuffix(tokens, at + 1, dashed)
  if (suffixed === undefined) return undefined
  let text = digits + suffixed.text
  let { end } = suffixed
  let hyphen = false
  while (isHyphen(tokens, end, dashed) && text.length < 32) {
    const inserted = readInserted(tokens, end + 1)
    const more = tokens.digits(end + 1, 1, 5) ?? inserted?.text
    const moreSuffixed = inserted ?? (more === undefined ? undefined : readSuffix(tokens, end + 2))
    if (more === undefined || moreSuffixed === undefined)
      return tokens.isWord(end + 1) ? undefined : { text, end, hyphen }
    if (inserted !== undefined) {
      text += more
      end = inserted.end
      continue
    }
    text += `-${more}${moreSuffixed.text}`
    hyphen = true
    end = moreSuffixed.end
  }
  const letter = tokens.get(end)
  const isLettered = hyphen && letter !== undefined && /^[A-Z]$/.test(letter.raw) && !tokens.isGlued(end + 1)
  return isLettered ? { text: `${text}-${letter.text}`, end: end + 1, hyphen } : { text, end, hyphen }
}

function isHyphen(tokens: TokenStream, at: number, dashed: boolean): boolean {
  if (!tokens.isGlued(at) || !tokens.isGlued(at + 1)) return false
  // `5-ը`: the article of Armenian.
  if (tokens.reads(at, '-')) return !/^\p{sc=Armn}/u.test(tokens.text(at + 1))
  const isLettered = tokens.isWord(at - 1) || tokens.text(at - 1) === tokens.text(at + 1)
  const isDash = dashed && isLettered && tokens.isNumber(at + 1) && !tokens.reads(at + 2, '.')
  return tokens.reads(at, '–') && (isDash || readInserted(tokens, at + 1) !== undefined || descends(tokens, at))
}

/** `6-bis`, `2-A`: what stands behind a hyphen and is no number. */
function readInserted(tokens: TokenStream, at: number): Piece | undefined {
  const { text = '', raw = '' } = tokens.get(at) ?? {}
  if (tokens.isContinued(at + 1, '-', "'") && !(tokens.reads(at + 1, '-') && tokens.isNumber(at + 2))) return undefined
  if (INSERTED.test(text)) return { text, end: at + 1, hyphen: false }
  return /^[A-Z]$/.test(raw) ? { text: `-${text}`, end: at + 1, hyphen: false } : undefined
}

/** Removes the part after the hyphen if the hyphen separates two numbers: `8.3.1-8.3.4`. */
function beforeRange(tokens: TokenStream, piece: Piece | undefined): Piece | undefined {
  const goesOn = piece !== undefined && tokens.reads(piece.end, '.') && tokens.isGlued(piece.end + 1)
  if (piece?.hyphen !== true || !goesOn || !tokens.isNumber(piece.end + 1)) return piece
  let { end } = piece
  while (!tokens.reads(end - 1, '-', '–')) end -= 1
  return { text: piece.text.slice(0, piece.text.lastIndexOf('-')), end: end - 1, hyphen: false }
}

/** Signs that join what is written together to one name, before letters or digits. */
const JOINING = new Set(['-', '–', '/', '_', '@', '°', '*', '+', '~', ':', '.', '=', '·', '‧', '∙'])
const BRACKET_TOKENS_MAX = 4

/**
 * A number that goes on in a way that is not read is another number: its name is all that is written together, as in
 * `7/2`, `22abc`. Undefined where it is no number of a provision (`5th`, `10km`).
 * @param read what was read of it.
 */
export function wholeNumber(tokens: TokenStream, at: number, read: Designation | undefined): Designation | undefined {
  const start = read?.end ?? (tokens.isNumber(at) ? at + 1 : undefined)
  if (start === undefined || (read === undefined && !isUnreadNumber(tokens, start))) return read
  let end = start
  for (let next = afterJoined(tokens, end); next > end; next = afterJoined(tokens, end)) end = next
  if (end === start) return read
  const written = tokens.slice(at, end).map(({ text }) => (text === '–' ? '-' : text))
  const text = written.join('').replaceAll(/[/#*]/g, '~')
  const brackets = readBrackets(tokens, end)
  return { parts: [{ text, kind: 'main', keyword: '' }, ...brackets.parts], end: brackets.end, hyphen: false }
}

/** Letters follow that are no suffix, ordinal or unit. */
function isUnreadNumber(tokens: TokenStream, at: number): boolean {
  const word = tokens.isGlued(at) && tokens.isWord(at) ? tokens.text(at) : ''
  if (word === '') return tokens.isContinued(at, '-', '/', ':') && tokens.isGlued(at + 1) && tokens.text(at) !== ''
  return word.length <= 5 && !COUNTING.has(word) && !/^\p{Lu}/u.test(tokens.raw(at))
}

/** The position after what is written together with the token before it; the same position at the end of the name. */
function afterJoined(tokens: TokenStream, at: number): number {
  const token = tokens.get(at)
  if (token?.glued !== true || token.raw === '—') return at
  // Raised and lowered digits, `½`.
  if (token.kind === 'sign' && /\d/.test(token.text)) return at + 1
  if (token.kind !== 'sign') return /^(?:\p{Lu}\p{L}{2,}|[IVX]+)$/u.test(token.raw) ? at : at + 1
  const next = tokens.get(at + 1)
  if (next?.glued !== true) return at
  if (token.text === '(') {
    const close = closingBracket(tokens, at, BRACKET_TOKENS_MAX + 1)
    const inside = close === undefined ? [] : tokens.slice(at + 1, close)
    const isShort = inside.length > 0 && inside.every(({ kind, text }) => kind !== 'sign' && text.length <= 5)
    return close !== undefined && isShort && inside.some(({ kind }) => kind === 'number') ? close + 1 : at
  }
  if (!JOINING.has(token.text)) return at
  // Between numbers, or behind a bracket, a hyphen joins the ends of a range, and so does a dash.
  const isRange = token.text === '–' || (token.text === '-' && (tokens.isNumber(at - 1) || tokens.reads(at - 1, ')')))
  if (next.text.startsWith('^') || (next.kind === 'number' && !isRange)) return at + 2
  // A full stop, a colon or a dash may end what stands before a word.
  if (next.kind !== 'word' || ['.', ':'].includes(token.text) || /^\p{sc=Armn}/u.test(next.text)) return at
  return next.text.length <= (token.text === '–' ? 1 : 5) ? at + 2 : at
}

/** Whether the number before this position is part of an amount, a time, a fraction or a longer number. */
function isQuantity(tokens: TokenStream, at: number): boolean {
  const token = tokens.get(at)
  if (token === undefined) return false
  if (token.text === '%') return true
  if (!token.glued) return tokens.reads(at, '€', '$', '£', 'eur', 'usd')
  const next = tokens.get(at + 1)
  const isJoinedByNumber = next?.glued === true && next.kind === 'number'
  if (token.text === '/' || token.text === ':') return isJoinedByNumber
  if (token.text === ',') return isJoinedByNumber && next.text.length === 3
  return token.text === '@' || token.text === '_' || token.text === '°' || token.text === '€'
}

/** `515–8`, `1395w–4`: ranges ascend, so this dash is a hyphen. */
function descends(tokens: TokenStream, at: number): boolean {
  if (!tokens.reads(at, '–') || tokens.reads(at + 2, '.')) return false
  const isLettered = tokens.isWord(at - 1) && tokens.isGlued(at - 1)
  return Number(tokens.text(isLettered ? at - 2 : at - 1)) > Number(tokens.text(at + 1)) - Number(isLettered)
}

/** Reads the suffix of digits. Undefined if it makes them something else (`5th`, `10km`). */
function readSuffix(tokens: TokenStream, at: number, dashed = false): { text: string; end: number } | undefined {
  const token = tokens.get(at)
  if (token?.glued === true && token.text.startsWith('^')) return { text: token.text, end: at + 1 }
  // `artículo 14º`, `artigo 1.º`: an ordinal.
  const ordinal = tokens.reads(at, '.') && tokens.isGlued(at) ? at + 1 : at
  if (tokens.reads(ordinal, '°') && tokens.isGlued(ordinal) && !tokens.isContinued(ordinal + 1))
    return { text: '', end: ordinal + 1 }
  // `articolo 6 - bis`, `§ 433.bis`.
  const isJoined = tokens.reads(at, '.') ? tokens.isGlued(at + 1) : /^arti[cg]/.test(tokens.text(at - 2))
  if (tokens.reads(at, '.', '-', '–') && isJoined && INSERTED.test(tokens.text(at + 1)) && !tokens.isNumber(at + 2))
    return { text: tokens.text(at + 1), end: at + 2 }
  if (token?.kind !== 'word') return { text: '', end: at }
  const isGermanUntil =
    token.text === 'bis' && !token.glued && (tokens.isNumber(at + 1) || tokens.isSectionSign(at + 1))
  if (INSERTED.test(token.text) && !isGermanUntil) {
    // `Article 6 quinquies A of the Paris Convention`, but `6 bis A company`.
    const isLetter = /^[A-Z]$/.test(tokens.raw(at + 1)) && !tokens.isGlued(at + 1)
    const ends = !tokens.isWord(at + 2) || tokens.isCapitalised(at + 2) || tokens.reads(at + 2, 'of', 'de', 'der', 'du')
    if (isLetter && ends) return { text: `${token.text}-${tokens.text(at + 1)}`, end: at + 2 }
    return { text: token.text, end: at + 1 }
  }
  if (!token.glued) {
    if (!isLetterApart(tokens, at)) return { text: '', end: at }
    // `article 39 A bis`.
    const more = INSERTED.test(tokens.text(at + 1)) ? tokens.text(at + 1) : ''
    const letter = /\p{Lu}/u.test(token.raw) ? `-${token.text}` : token.text
    return { text: letter + more, end: more === '' ? at + 1 : at + 2 }
  }
  if (isBeforeNationalAct(tokens, at) && ROMAN_PARAGRAPH.test(token.raw)) return { text: '', end: at }
  if (/^\p{Lu}\p{L}{2,}$/u.test(token.raw)) return { text: '', end: at }
  // `42 U.S.C. 1395ff` is a section of its own; `§ 433ff` goes on.
  const isOwn = dashed || tokens.reads(at - 2, 'section')
  if (token.text === 'er' || (token.text === 'ff' && !isOwn)) return { text: '', end: at + 1 }
  // `10b5-1`, `15c3-1`.
  const rule = tokens.match(at, /^[a-z]\d{1,2}(?=-\d)/)
  if (rule !== undefined) return { text: rule.groups[0] ?? '', end: rule.end }
  return SUFFIX.test(token.text) && !COUNTING.has(token.text.length === 1 ? '' : token.text)
    ? { text: token.text, end: at + 1 }
    : undefined
}

/** `§ 312 g BGB`, `§ 613 a Abs. 5 BGB`, `§ 312 g II BGB`: a letter apart from the number of a German provision. */
function isLetterApart(tokens: TokenStream, at: number): boolean {
  // `article 39 A du code`, `artículo 5 A`.
  const next = tokens.get(at + 1)
  if (/^[A-HJ-UWYZ]$/.test(tokens.raw(at)))
    return LETTER_APART_ENDS.test(next?.text ?? '') || INSERTED.test(next?.text ?? '')
  if (!/^[a-z]$/.test(tokens.raw(at))) return false
  if (tokens.reads(at + 1, 'abs', 'absatz', 'des')) return true
  if (tokens.isSectionSign(at - 2) && (next === undefined || LETTER_ENDS.includes(next.text))) return true
  return (
    isBeforeNationalAct(tokens, at) || (ROMAN_PARAGRAPH.test(tokens.raw(at + 1)) && isBeforeNationalAct(tokens, at + 1))
  )
}

function isBeforeNationalAct(tokens: TokenStream, at: number): boolean {
  return tokens.isWord(at + 1) && !tokens.isGlued(at + 1) && NATIONAL_ACT.test(tokens.raw(at + 1))
}

function closingBracket(tokens: TokenStream, open: number, most = 3): number | undefined {
  for (let index = open + 2; index <= open + most; index += 1) if (tokens.reads(index, ')')) return index
  return undefined
}

function textOf(tokens: TokenStream, from: number, to: number): string {
  let text = ''
  for (let index = from; index < to; index += 1) {
    if (index > from && !tokens.isGlued(index)) return ''
    text += tokens.text(index)
  }
  return text
}
