import type { TokenStream } from '#law/citations/lexer/tokens.ts'
import { isContainer } from './designators.ts'
import type { Designator } from './designators.ts'
import { isRoman, kindOf, PARTS_MAX, readBrackets, readDesignation, romanValue } from './numbers.ts'
import type { Designation, Part } from './numbers.ts'

/** Provisions whose number may begin with a letter, or be a Roman numeral of two letters. */
const NUMBERED = new Set(['article', 'section', 'rule', 'regulation'])

/** Annexes and chapters may have Roman numerals, annexes and appendices letters. */
export function readNumber(tokens: TokenStream, from: number, designator: Designator): Designation | undefined {
  const at = afterNumberWord(tokens, from)
  const designation = readDesignation(tokens, at)
  if (designator.kind === 'recital' && designation === undefined) return readBracketed(tokens, at)
  if (designation !== undefined)
    return designator.kind === 'section' || designator.kind === 'sign'
      ? readHyphenated(tokens, designation)
      : designation
  const numbered = NUMBERED.has(designator.kind) ? readLettered(tokens, at, designator) : undefined
  if (numbered !== undefined) return numbered
  if (!isContainer(designator.kind) && designator.kind !== 'article') return undefined
  // `l'article L.`: the letter of a French series without its number.
  if (designator.kind === 'article' && tokens.reads(at, 'l', 'r', 'd')) return undefined
  return (
    readNumeral(tokens, at, designator.kind === 'appendix' || designator.kind === 'supplement') ??
    readPremier(tokens, at, designator)
  )
}

/** `article n° 1382`, `recital no. 47`. */
function afterNumberWord(tokens: TokenStream, at: number): number {
  if (!tokens.reads(at, 'n', 'no', 'nr')) return at
  const number = tokens.skip(at + 1, '.', '°')
  return number > at + 1 && tokens.isNumber(number) ? number : at
}

/** `recital (26)`: the publisher's own form. */
function readBracketed(tokens: TokenStream, at: number): Designation | undefined {
  const { parts, end } = readBrackets(tokens, at)
  const [part] = parts
  if (part?.kind !== 'digit' || parts.length > 1) return undefined
  return { parts: [{ ...part, kind: 'main' }], end, hyphen: false }
}

/** `206(4)-2`: rules of the Securities and Exchange Commission continue after the bracket. */
function readHyphenated(tokens: TokenStream, designation: Designation): Designation {
  const number =
    tokens.reads(designation.end, '-') && tokens.isGlued(designation.end) ? tokens.get(designation.end + 1) : undefined
  if (number?.kind !== 'number' || !number.glued || !tokens.reads(designation.end - 1, ')')) return designation
  const brackets = readBrackets(tokens, designation.end + 2)
  return {
    ...designation,
    parts: [...designation.parts, { text: `-${number.text}`, kind: 'digit', keyword: '' }, ...brackets.parts],
    end: brackets.end,
  }
}

/** Reads `Rule B1(3)`, `Sections II through VII`. `Section C1` is as often one of a form. */
function readLettered(tokens: TokenStream, at: number, { kind, capitalised }: Designator): Designation | undefined {
  const token = tokens.get(at)
  if (token === undefined) return undefined
  // `SECTION II` is the heading of a part of guidance.
  const isAllCapitals = /^\p{Lu}{2,}$/u.test(tokens.raw(at - 1))
  if (/^[IVXL]{2,}$/.test(token.raw)) return capitalised && !isAllCapitals ? readNumeral(tokens, at, false) : undefined
  if (kind === 'section' || !/^[A-Z]$/.test(token.raw) || !tokens.isGlued(at + 1)) return undefined
  const designation = readDesignation(tokens, at + 1)
  const [first, ...rest] = designation?.parts ?? []
  return first === undefined || designation === undefined
    ? undefined
    : { ...designation, parts: [{ ...first, text: token.text + first.text }, ...rest] }
}

/**
 * Reads the number of an annex or chapter: a Roman numeral (`Annex III`), or a letter (`Appendix C`, `Appendix MS-2`).
 */
function readNumeral(tokens: TokenStream, at: number, letters: boolean): Designation | undefined {
  const token = tokens.get(at)
  if (token?.kind !== 'word' || !/^\p{Lu}+$/u.test(token.raw) || isJoined(tokens, at + 1)) return undefined
  const brackets = readBrackets(tokens, at + 1)
  if (!letters && isRoman(token.text) && token.text !== 'l') {
    const value = String(romanValue(token.text))
    return { parts: [{ text: value, kind: 'main', keyword: '' }, ...brackets.parts], end: brackets.end, hyphen: false }
  }
  if (token.text.length > (letters ? 2 : 1)) return undefined
  const parts: Part[] = [{ text: token.text, kind: 'main', keyword: '' }]
  let end = at + 1
  while (tokens.reads(end, '-') && tokens.isGlued(end) && tokens.isGlued(end + 1) && parts.length < PARTS_MAX) {
    const next = tokens.get(end + 1)
    if (next === undefined || !/^(?:\d{1,3}|[a-z]|[ivx]{1,5})$/.test(next.text)) break
    parts.push({ text: next.text, kind: kindOf(next.text), keyword: '' })
    end += 2
  }
  const after = readBrackets(tokens, end)
  return { parts: [...parts, ...after.parts], end: after.end, hyphen: false }
}

function isJoined(tokens: TokenStream, at: number): boolean {
  const token = tokens.get(at)
  return token?.glued === true && (token.kind !== 'sign' || token.text === "'")
}

function readPremier(tokens: TokenStream, at: number, designator: Designator): Designation | undefined {
  const isFirst = designator.kind === 'article' ? tokens.reads(at, 'premier') : tokens.reads(at, 'premier', 'ier')
  if (!isFirst) return undefined
  return { parts: [{ text: '1', kind: 'main', keyword: '' }], end: at + 1, hyphen: false }
}
