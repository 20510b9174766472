import { formOf, LANGUAGES } from '#law/citations/lexer/languages.ts'
import { FUNCTION_WORD_FORMS, lex, type TokenStream } from '#law/citations/lexer/tokens.ts'
import { readBrackets, readDesignation, wholeNumber, type Designation } from './numbers.ts'
import WORDS from '#law/citations/lexer/words.json' with { type: 'json' }
import KINDS from './designators.json' with { type: 'json' }
import { readRoman } from './roman.ts'

export interface Designator {
  readonly kind: DesignatorKind
  readonly plural: boolean
  /** Position of the number. */
  readonly end: number
  /**
   * Written out with a capital, or abbreviated with a capital and a full stop. Otherwise it may be an ordinary word.
   */
  readonly capitalised: boolean
  readonly abbreviated: boolean
  /** A hyphen is part of the number, never a range: `aux articles 22-1 et 22-2`. */
  readonly hyphenated?: boolean
  /** A dash before digits is a hyphen, as the United States Code prints it. */
  readonly dashed?: boolean
  /** `§§`: a hyphen between ascending numbers is a range. */
  readonly ranged?: boolean
  /** A word that labels of the version teach. It is part of the number: `abala-5`. */
  readonly taught?: string | undefined
}

/**
 * The words of each kind of provision (`designators.json`): singular, plural and abbreviated. An abbreviation that ends
 * with a further `s` is a plural: `secs`, `ss`.
 */
export type DesignatorKind = keyof typeof KINDS | 'comment'

const words = new Map<string, Pick<Designator, 'kind' | 'plural' | 'abbreviated'>>()
for (const kind of Object.keys(KINDS).filter((each): each is keyof typeof KINDS => each in KINDS)) {
  const { one, several, short } = KINDS[kind]
  for (const word of one.split(' ')) words.set(word, { kind, plural: false, abbreviated: false })
  for (const word of several.split(' ')) words.set(word, { kind, plural: true, abbreviated: false })
  for (const word of short.split(' ')) words.set(word, { kind, plural: /.s$/.test(word), abbreviated: true })
}
for (const language of LANGUAGES.values())
  for (const kind of ['article', 'annex', 'recital'] as const)
    for (const word of language[kind])
      if (!words.has(word)) words.set(word, { kind, plural: false, abbreviated: word.length < 4 })
words.delete('')

const [CARDINALS, ORDINALS] = [new Map(Object.entries(WORDS.cardinals)), new Map(Object.entries(WORDS.ordinals))]
/** Words before a number. */
const NUMBER_WORDS = new Set('n no nr number numero num nummer #'.split(' '))
for (const { number } of LANGUAGES.values()) for (const word of number) NUMBER_WORDS.add(word)
/** What follows a number in words. */
const OF_ACT = /^(?:of|to|du|des?|d|del|della?|do|da|der)$/

/** A designator that no word states: the number at `end` is of this kind. */
export function impliedDesignator(kind: DesignatorKind, end: number, plural = false): Designator {
  return { kind, plural, end, capitalised: true, abbreviated: false }
}

/** Reads `Art.`, `§§`, `Rules`. Undefined if there is no such word, or if it is part of a longer one. */
export function readDesignator(tokens: TokenStream, at: number): Designator | undefined {
  if (tokens.isSectionSign(at)) return impliedDesignator('sign', tokens.skip(at + 1, '§'), tokens.text(at).length > 1)
  // `skäl` is a recital, `skal` a verb.
  const word = tokens.isWord(at) ? (words.get(tokens.text(at)) ?? words.get(tokens.raw(at))) : undefined
  if (word === undefined) return tokens.designators.size === 0 ? undefined : readTaught(tokens, at)
  if (isInsideWord(tokens, at)) return undefined
  // `čl.` is an article, `cl.` a clause; `EG 26` is a recital, `eg` begins an example.
  if (/^(?:cl|Cl|eg)$/.test(tokens.raw(at))) return undefined
  const hasPoint = tokens.reads(at + 1, '.')
  if ((hasPoint && !word.abbreviated) || (!hasPoint && tokens.reads(at, 'm'))) return undefined
  const afterPoint = hasPoint ? at + 2 : at + 1
  return {
    ...word,
    end: tokens.isSectionSign(afterPoint) ? afterPoint + 1 : afterPoint,
    capitalised: /^[\p{Lu}\p{Lo}]/u.test(tokens.raw(at)) && (!word.abbreviated || hasPoint),
    ...(word.plural && hasFrenchArticle(tokens, at) ? { hyphenated: true } : {}),
  }
}

/** `abala 5`, `ingingo ya 5`, `andininy faha-5`: a word that no table has, before its number. */
function readTaught(tokens: TokenStream, at: number): Designator | undefined {
  const end = numberBehind(tokens, at)
  const taught = tokens.isNumber(end) ? formOf(tokens.text(at), tokens.designators) : undefined
  const isWord = taught !== undefined && !isInsideWord(tokens, at)
  return isWord ? { ...impliedDesignator('article', end), taught } : undefined
}

function numberBehind(tokens: TokenStream, at: number): number {
  const next = tokens.skip(at + 1, '.')
  return tokens.isSmall(next) ? tokens.skip(next + 1, '.', '-', '°') : next
}

/** Returns the word that a label teaches, the one before the number at its end. A year is no number of a provision. */
export function wordTaughtBy(label: string): string | undefined {
  const tokens = lex(label)
  for (let at = 0; at < tokens.length; at += 1) {
    const [word, number] = [tokens.text(at), numberBehind(tokens, at)]
    if (!tokens.isWord(at) || word.length < 2 || FUNCTION_WORD_FORMS.has(word) || words.has(word)) continue
    const end = tokens.isNumber(number) ? readNumber(tokens, number, impliedDesignator('article', number))?.end : 0
    if (tokens.skip(end ?? 0, '.') === tokens.length) return tokens.isYear(number) ? undefined : word
  }
  return undefined
}

/** Kinds whose name precedes the number in a path: `annex-3`, `recital-26`. */
const CONTAINERS = /^(?:recital|annex|schedule|chapter|part|title|appendix|supplement|subpart)$/

export function isContainer(kind: DesignatorKind): boolean {
  return CONTAINERS.test(kind)
}

/** Whether the token is part of a compound or an address (`sub-section`, `x.art`), and so not a designator. */
function isInsideWord(tokens: TokenStream, at: number): boolean {
  if (!tokens.isGlued(at)) return false
  const before = tokens.get(at - 1)
  // `l-artikolu`: the Maltese article.
  if (before?.text === '-' && tokens.reads(at - 2, 'l') && !tokens.isGlued(at - 2)) return false
  if (before?.text === '.') return !tokens.isCapitalised(at)
  if (before?.text === "'" && tokens.reads(at, 's')) return true
  return before?.kind !== 'sign' || ['-', '@', '_', '/', '\\'].includes(before.text)
}

/** `l'article 1242`, `aux articles 771 et 772`: the French article marks a provision in any letter case. */
export function hasFrenchArticle(tokens: TokenStream, at: number): boolean {
  if (tokens.reads(at, 'articles')) return tokens.reads(at - 1, 'aux', 'des', 'les')
  return tokens.reads(at - 1, "'") && tokens.reads(at - 2, 'l') && tokens.isGlued(at)
}

/** Reads the number of a provision. Annexes and chapters may have Roman numerals, annexes and appendices letters. */
export function readNumber(tokens: TokenStream, from: number, designator: Designator): Designation | undefined {
  const { kind } = designator
  const at = afterNumberWord(tokens, from)
  const read = readDesignation(tokens, at, designator.dashed)
  const hyphenated = read !== undefined && (kind === 'section' || kind === 'sign') ? readHyphenated(tokens, read) : read
  const written = wholeNumber(tokens, at, hyphenated) ?? readWritten(tokens, at)
  if (written !== undefined) return written
  if (kind === 'recital') return readBracketed(tokens, at)
  const isNumbered = kind === 'article' || kind === 'section' || kind === 'rule' || kind === 'regulation'
  const lettered = isNumbered ? readLettered(tokens, at, designator) : undefined
  if (lettered !== undefined || (!isContainer(kind) && kind !== 'article')) return lettered
  // `l'article L.`: the letter of a French series without its number.
  if (kind === 'article' && tokens.reads(at, 'l', 'r', 'd')) return undefined
  if (kind !== 'article' && tokens.reads(at, 'ier')) return designationOf('1', at + 1)
  return readNumeral(tokens, at, /^(?:appendix|supplement|subpart)$/.test(kind))
}

/** `article n° 1382`, `recital no. 47`, `article number 5`, `Article #5`. */
function afterNumberWord(tokens: TokenStream, at: number): number {
  if (!NUMBER_WORDS.has(tokens.text(at))) return at
  const number = tokens.skip(at + 1, '.', '°')
  return (number > at + 1 || !/^na?$/.test(tokens.text(at))) && tokens.isNumber(number) ? number : at
}

/** A number, and the parts below it. */
export function designationOf(text: string, end: number, below: Designation['parts'] = []): Designation {
  return { parts: [{ text, kind: 'main', keyword: '' }, ...below], end, hyphen: false }
}

/** `section one of the Act`, `artículo primero`; in `which article one reads`, it is no number. */
function readWritten(tokens: TokenStream, at: number): Designation | undefined {
  const value = CARDINALS.get(tokens.text(at)) ?? ORDINALS.get(tokens.text(at))
  const ends = !tokens.isWord(at + 1) || tokens.isCapitalised(at + 1) || OF_ACT.test(tokens.text(at + 1))
  return value !== undefined && ends ? designationOf(value, at + 1) : undefined
}

/** `First`, `26th`: a number that may stand before the word for its kind. */
export function readOrdinal(tokens: TokenStream, at: number): Designation | undefined {
  const isCounted = tokens.isNumber(at) && tokens.isGlued(at + 1) && /^(?:st|nd|rd|th)$/.test(tokens.text(at + 1))
  const value = isCounted ? tokens.text(at) : ORDINALS.get(tokens.text(at))
  return value === undefined ? undefined : designationOf(value, isCounted ? at + 2 : at + 1)
}

/** `recital (26)`: the publisher's own form. */
function readBracketed(tokens: TokenStream, at: number): Designation | undefined {
  const { parts, end } = readBrackets(tokens, at)
  const [part] = parts
  if (part?.kind !== 'digit' || parts.length > 1) return undefined
  return { parts: [{ ...part, kind: 'main' }], end, hyphen: false }
}

/**
 * `206(4)-2`: rules of the Securities and Exchange Commission continue after the bracket. In `10a(1)-10c(2)` a greater
 * number ends a range.
 */
function readHyphenated(tokens: TokenStream, designation: Designation): Designation {
  const { parts, end } = designation
  const number = tokens.text(end + 1)
  const isContinued =
    tokens.reads(end, '-') && tokens.isGlued(end) && tokens.isNumber(end + 1) && tokens.isGlued(end + 1)
  const isRange = Number(number) >= Number.parseInt(parts.findLast(({ kind }) => kind === 'main')?.text ?? '', 10)
  if (!isContinued || isRange || !tokens.reads(end - 1, ')')) return designation
  const brackets = readBrackets(tokens, end + 2)
  return {
    ...designation,
    parts: [...parts, { text: `-${number}`, kind: 'digit', keyword: '' }, ...brackets.parts],
    end: brackets.end,
  }
}

/** Reads `Rule B1(3)`, `Sections II through VII`. `Section C1` is as often one of a form. */
function readLettered(tokens: TokenStream, at: number, { kind, capitalised }: Designator): Designation | undefined {
  // `SECTION II` is the heading of a part of guidance.
  const isAllCapitals = /^\p{Lu}{2,}$/u.test(tokens.raw(at - 1))
  const raw = tokens.raw(at)
  // `section I of the By-law`: a numeral that is a word as well.
  if (kind === 'section' && /^[IVXL]+$/.test(raw) && (at + 1 === tokens.length || isOfName(tokens, at + 1)))
    return readNumeral(tokens, at, false)
  if (/^[IVXL]{2,}$/.test(raw)) return capitalised && !isAllCapitals ? readNumeral(tokens, at, false) : undefined
  if (kind === 'section' || !/^[A-Z]$/.test(raw) || !tokens.isGlued(at + 1)) return undefined
  const designation = readDesignation(tokens, at + 1)
  const [first, ...rest] = designation?.parts ?? []
  if (first === undefined || designation === undefined) return undefined
  return { ...designation, parts: [{ ...first, text: tokens.text(at) + first.text }, ...rest] }
}

function isOfName(tokens: TokenStream, at: number): boolean {
  return tokens.reads(at, 'of') && tokens.isCapitalised(tokens.skip(at + 1, 'the'))
}

/**
 * Reads the number of an annex or chapter: a Roman numeral (`Annex III`), or letters with their digits (`Appendix C`,
 * `Appendix M1`, `Appendix MS-2`, `Subpart OOOOa`), of which each is another one.
 */
function readNumeral(tokens: TokenStream, at: number, letters: boolean): Designation | undefined {
  const text = tokens.text(at)
  const shape = letters ? /^(?:\p{Lu}{1,2}|(\p{Lu})\1{2,4}[a-z]?|\p{Lu}[a-z])$/u : /^\p{Lu}+$/u
  if (!shape.test(tokens.raw(at)) || (tokens.isContinued(at + 1, "'") && !tokens.isNumber(at + 1))) return undefined
  const value = letters || text === 'l' ? undefined : readRoman(text)
  // `Schedule ZA1`.
  const isNumbered = tokens.isGlued(at + 1) && tokens.isNumber(at + 1) && text.length < 4
  if (value === undefined && !letters && text.length > 1 && !isNumbered) return undefined
  let [number, end] = [value === undefined ? text : String(value), at + 1]
  if (value === undefined && tokens.isGlued(end) && tokens.isNumber(end)) {
    number += tokens.text(end)
    end += 1
  }
  while (tokens.reads(end, '-') && tokens.isGlued(end) && tokens.isGlued(end + 1)) {
    const next = tokens.text(end + 1)
    if (value !== undefined || !/^(?:\d{1,3}|[a-z]|[ivx]{1,5})$/.test(next)) break
    number += `-${next}`
    end += 2
  }
  const brackets = readBrackets(tokens, end)
  return designationOf(number, brackets.end, brackets.parts)
}

/** What else hangs under a provision, and is not its text: `Table 1 to § 63.1`. */
const TABLES = new Set(['table', 'figure', 'exhibit', 'note', 'attachment', 'tabelle', 'tableau'])
/** `Table 2`, `Table 1 to Subpart A`, `notes` before what they are under. */
export function tableAt(tokens: TokenStream, at: number): { readonly name: string; readonly end: number } | undefined {
  const word = tokens.text(at)
  const isNote =
    /^(?:notes?|notas?|anmerkung|fussnote|vorbemerkung)$/.test(word) &&
    tokens.reads(at + 1, 'to', 'under', 'zu', 'vor', 'al', 'del')
  if (isNote && readDesignator(tokens, at + 2)?.plural !== true) return { name: 'note', end: at + 1 }
  if (!TABLES.has(word) || !(tokens.isNumber(at + 1) || /^[A-Z]$/.test(tokens.raw(at + 1)))) return undefined
  // `Table A-1`.
  const end = tokens.isContinued(at + 2, '-') && tokens.isNumber(at + 3) ? at + 4 : at + 2
  const isOfSubpart = tokens.reads(end, 'to', 'of') && tokens.reads(end + 1, 'subpart') && tokens.isWord(end + 2)
  const number = tokens.slice(at + 1, end).map(({ text }) => text)
  const subpart = isOfSubpart ? `-subpart-${tokens.text(end + 2)}` : ''
  return { name: `${word}-${number.join('')}${subpart}`, end: isOfSubpart ? end + 3 : end }
}
