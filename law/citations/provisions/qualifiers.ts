import { LANGUAGES } from '#law/citations/lexer/languages.ts'
import type { TokenStream } from '#law/citations/lexer/tokens.ts'
import { kindOf, readBrackets, readDesignation, readLetter, type Part } from './numbers.ts'
import WORDS from './qualifiers.json' with { type: 'json' }
import { readRoman, ROMAN_PARAGRAPH } from './roman.ts'

/**
 * Words that name a part below an article or section. Words of one level replace each other: `Abs. 1 und Abs. 2`. The
 * part of a point may be a letter without brackets (`lit. f`).
 */
const levelOfWord = new Map(
  Object.entries(WORDS.levels).flatMap(([level, words]) => words.split(' ').map((word) => [word, level] as const)),
)
const FOREIGN_PARTS = new Set([...LANGUAGES.values()].flatMap(({ paragraph }) => paragraph))
for (const word of FOREIGN_PARTS) if (!levelOfWord.has(word)) levelOfWord.set(word, 'paragraph')

/** Subdivisions that the publisher does not number. They are skipped and never part of the path. */
const UNNUMBERED = new Set(WORDS.unnumbered.split(' '))
const ORDINALS = new Set(WORDS.ordinals.split(' '))

/** Sentences of a paragraph, and of a list of them. */
const UNNUMBERED_MAX = 12

export interface Qualified {
  readonly parts: readonly Part[]
  readonly end: number
}

/**
 * Reads everything that narrows the number before it: `Abs. 1 Satz 1 lit. f`, `paragraph 1, point (f)`, `I 1 f`,
 * `alinéa 2`, `ff.`. Paragraphs of a schedule are numbered across its parts.
 * @param divisions words of parts or sections that are no part of the path. @param signs behind a comma, a section sign
 * is a paragraph, and a letter before a bracket a point: `article 6, § 1, f)`.
 */
export function readQualifiers(tokens: TokenStream, at: number, divisions: readonly string[] = [], signs = false) {
  const parts: Part[] = []
  let end = readRomanParagraph(tokens, at, parts)
  for (let round = 0; round < 8; round += 1) {
    // `članak 5. stavak 2.`: the number of an ordinal has a full stop.
    const isOrdinal = tokens.reads(end, '.') && FOREIGN_PARTS.has(tokens.raw(end + 1))
    const from = isOrdinal ? end + 1 : tokens.skip(tokens.skip(end, ','), 'the')
    const qualified =
      readQualifier(tokens, from) ?? readUnnumbered(tokens, from, divisions) ?? readSign(tokens, from, signs)
    if (qualified === undefined || (from > end && isApart(tokens, parts, qualified))) break
    parts.push(...qualified.parts)
    end = qualified.end
  }
  return { parts, end: afterFollowing(tokens, end) }
}

/**
 * Whether a part after a comma is none of the provision before it: `475 Absatz 3 Satz 1, Absatz 4` has two items, and
 * `Under Article 54, paragraph 5 of this Article applies` two provisions.
 */
function isApart(tokens: TokenStream, parts: readonly Part[], { parts: [next], end }: Qualified): boolean {
  if (tokens.reads(end, 'of') && tokens.reads(end + 1, 'this')) return tokens.reads(end + 2, 'article', 'section')
  return next !== undefined && next.keyword !== '' && parts.some(({ keyword }) => keyword === next.keyword)
}

/** Reads one keyword with its number: `Abs. 1`, `point (f)`, `Buchst. aa`. */
export function readQualifier(tokens: TokenStream, at: number): Qualified | undefined {
  // `artigo 5.º, n.º 2`.
  const isNumero = tokens.reads(at, 'n') && tokens.reads(at + 1, '.') && tokens.reads(at + 2, '°')
  const level = isNumero ? 'paragraph' : levelOfWord.get(tokens.text(at))
  const value = isNumero ? at + 3 : tokens.skip(at + 1, '.')
  if (level === undefined || (tokens.reads(at, 'let') && !tokens.reads(at + 1, '.'))) return undefined
  if (UNNUMBERED.has(tokens.text(at)) && tokens.isNumber(value)) return undefined
  return readSibling(tokens, value, level)
}

/** Reads a number of a level, also without its keyword after a connector: the `2` of `Abs. 1 und 2`. */
export function readSibling(tokens: TokenStream, at: number, keyword: string): Qualified | undefined {
  const brackets = readBrackets(tokens, at)
  const [first, ...rest] = brackets.parts
  if (first !== undefined) return { parts: [{ ...first, keyword }, ...rest], end: brackets.end }
  if (tokens.isNumber(at)) {
    const number = readDesignation(tokens, at)
    const [main, ...below] = number?.parts ?? []
    if (number === undefined || main === undefined) return undefined
    if (number.hyphen) {
      // `Nr. 1-3`: the ends of a range.
      const [low = '', high = ''] = main.text.split('-')
      const isRange = /^\d+-\d+$/.test(main.text) && below.length === 0 && Number(low) < Number(high)
      return isRange ? { parts: [{ text: low, kind: 'digit', keyword }], end: number.end - 2 } : undefined
    }
    return { parts: [{ ...main, kind: kindOf(main.text), keyword }, ...below], end: tokens.skip(number.end, '°') }
  }
  const letter = keyword === 'point' ? readLetter(tokens, at) : undefined
  return letter && { parts: [{ text: letter.text, kind: 'letter', keyword }], end: tokens.skip(letter.end, ')') }
}

/** `Artikel 246a § 1 EGBGB`, `Artikels 250 §§ 1 bis 3`: sections within an article. */
function readSign(tokens: TokenStream, at: number, signs: boolean): Qualified | undefined {
  const isItem = signs && tokens.reads(at + 1, ')') && tokens.isGlued(at + 1) && readLetter(tokens, at) !== undefined
  if (isItem) return { parts: [{ text: tokens.text(at), kind: 'letter', keyword: 'point' }], end: at + 2 }
  const isAfterComma = tokens.reads(at - 1, ',') && !(signs && tokens.text(at + 1).length < 3)
  return tokens.reads(at, '§', '§§') && !isAfterComma ? readSibling(tokens, at + 1, 'section') : undefined
}

/** `Satz 2`, `S. 1`, `first subparagraph`, `2nd sentence`, `alinéa 1er`. */
function readUnnumbered(tokens: TokenStream, at: number, divisions: readonly string[]): Qualified | undefined {
  const isCounted = UNNUMBERED.has(tokens.text(at + 1)) || levelOfWord.get(tokens.text(at + 1)) === 'paragraph'
  if (ORDINALS.has(tokens.text(at)) && isCounted) return { parts: [], end: at + 2 }
  const word = tokens.text(at)
  if (divisions.includes(word) && /^(?:[A-Z]|[IVX]+)$/.test(tokens.raw(at + 1))) return { parts: [], end: at + 2 }
  const number = tokens.skip(at + 1, '.')
  if ((!UNNUMBERED.has(word) && !divisions.includes(word)) || !tokens.isNumber(number)) return undefined
  const end = tokens.isGlued(number + 1) ? tokens.skip(number + 1, 'er') : number + 1
  return { parts: [], end: afterFurtherUnnumbered(tokens, end, Number(tokens.text(number))) }
}

/** `Satz 1, 2 oder 3`, `Satz 1 bis 3`: further sentences ascend, and have no parts of their own. */
function afterFurtherUnnumbered(tokens: TokenStream, at: number, before: number): number {
  let [end, last] = [at, before]
  for (let round = 0; round < UNNUMBERED_MAX; round += 1) {
    const index = tokens.reads(end, ',', 'und', 'oder', 'bis', 'et', 'ou', 'and', 'or', 'to', '–') ? end + 1 : undefined
    const number = index === undefined ? undefined : tokens.get(index)
    if (index === undefined || number?.kind !== 'number') break
    const next = tokens.get(index + 1)
    const value = Number(number.text)
    const isPart = next !== undefined && (next.text === '(' || isPartWord(next.text))
    if (value <= last || value > UNNUMBERED_MAX || isPart || tokens.isContinued(index + 1)) break
    ;[end, last] = [index + 1, value]
  }
  return end
}

/** `§ 823 I BGB`, `Art. 6 I 1 lit. f`: the paragraph as a Roman numeral, and the sentence after it. */
function readRomanParagraph(tokens: TokenStream, at: number, parts: Part[]): number {
  const value = ROMAN_PARAGRAPH.test(tokens.raw(at)) ? readRoman(tokens.text(at)) : undefined
  if (value === undefined || (tokens.isGlued(at) && !tokens.isNumber(at - 1))) return at
  if (tokens.isGlued(at + 1) && tokens.reads(at + 1, "'", '-')) return at
  const isNumber = tokens.isNumber(at + 1)
  const isListed = isOfGerman(tokens, at - 2) && (tokens.get(at + 1) === undefined || tokens.reads(at + 1, ...LISTED))
  if (!isNumber && !isListed && !tokens.isCapitalised(at + 1) && !isPartWord(tokens.text(at + 1))) return at
  parts.push({ text: String(value), kind: 'digit', keyword: 'paragraph' })
  return isNumber && tokens.text(at + 1).length === 1 ? at + 2 : at + 1
}

/** What may follow a paragraph that the list goes on with: `§§ 823 I, 1004 BGB`, `Art. 2 I i.V.m. Art. 1 I GG`. */
const LISTED = [',', ';', ')', '/', 'i', 'und', 'oder', 'sowie', 'bis']

function isOfGerman(tokens: TokenStream, at: number): boolean {
  return tokens.isSectionSign(at) || tokens.reads(tokens.reads(at, '.') ? at - 1 : at, 'art', 'artikel')
}

function isPartWord(text: string): boolean {
  return levelOfWord.has(text) || UNNUMBERED.has(text)
}

const BETWEEN_PARTS = new Set(WORDS.between.split(' '))
const BETWEEN_PARTS_MAX = 24

/** `§ 29 Absatz 1, auch in Verbindung mit Absatz 6, des Betäubungsmittelgesetzes`: only parts stand between. */
export function areParts(tokens: TokenStream, from: number, to: number): boolean {
  if (to - from > BETWEEN_PARTS_MAX) return false
  for (let index = from; index < to; index += 1) {
    const text = tokens.text(index)
    if (!tokens.isNumber(index) && !BETWEEN_PARTS.has(text) && !isPartWord(text)) return false
  }
  return true
}

/** Skips `ff.`, `et seq.` and the like, which add nothing to look up. */
function afterFollowing(tokens: TokenStream, at: number): number {
  if (tokens.reads(at, 'et') && tokens.reads(at + 1, 'seq', 'seqq', 'suiv', 's')) return tokens.skip(at + 2, '.')
  if (tokens.reads(at, 'et', 'und') && tokens.reads(at + 1, 'suivants', 'suivantes', 'folgende')) return at + 2
  return tokens.reads(at, 'f', 'ff') ? tokens.skip(at + 1, '.') : at
}
