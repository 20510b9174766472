import type { TokenStream } from '#law/citations/lexer/tokens.ts'
import { isRoman, kindOf, readBrackets, readDesignation, readLetter, ROMAN_PARAGRAPH, romanValue } from './numbers.ts'
import type { Part } from './numbers.ts'

/**
 * Words that name a part below an article or section. Words of one row name the same level, so `Abs. 1 und Abs. 2`
 * replace each other. `letters`: the part may be a letter without brackets (`lit. f`).
 */
const LEVELS: readonly (readonly [level: string, letters: boolean, words: readonly string[]])[] = [
  [
    'paragraph',
    false,
    [
      'abs',
      'absatz',
      'absatze',
      'absatzes',
      'absatzen',
      'para',
      'paras',
      'paragraph',
      'paragraphs',
      'paragraphe',
      'paragraphes',
      'subsection',
      'subsections',
      'subsections',
    ],
  ],
  [
    'point',
    true,
    [
      'point',
      'points',
      'lit',
      'litera',
      'buchst',
      'buchstabe',
      'buchstaben',
      'letter',
      'lettre',
      'doppelbuchst',
      'doppelbuchstabe',
    ],
  ],
  [
    'number',
    false,
    ['nr', 'nrn', 'nummer', 'nummern', 'ziff', 'ziffer', 'item', 'items', 'subparagraph', 'subparagraphs', 'subpoint'],
  ],
]

/** Subdivisions that the publisher does not number. They are skipped and never part of the path. */
const UNNUMBERED = new Set(
  `satz satze s sentence sentences subparagraph subparagraphs hs halbsatz alt alternative var variante unterabs
    uabs unterabsatz unterabsatzes alinea alineas al phrase indent indents tiret tirets spiegelstrich`.split(/\s+/),
)
const ORDINALS = new Set(
  (
    'first second third fourth fifth sixth last final erster erste zweiter zweite dritter dritte ' +
    'premier premiere deuxieme second seconde troisieme quatrieme cinquieme dernier derniere'
  ).split(/\s+/),
)

/** Sentences of a paragraph, and of a list of them. */
const UNNUMBERED_MAX = 12

interface Level {
  readonly name: string
  readonly letters: boolean
}

const levelOfWord = new Map<string, Level>()
for (const [name, letters, words] of LEVELS) for (const word of words) levelOfWord.set(word, { name, letters })

export interface Qualified {
  readonly parts: readonly Part[]
  readonly end: number
}

/**
 * Reads everything that narrows the number before it: `Abs. 1 Satz 1 lit. f`, `paragraph 1, point (f)`, `I 1 f`,
 * `alinéa 2`, `ff.`. Paragraphs of a schedule are numbered across its parts.
 * @param divisions words of parts or sections that are no part of the path.
 */
export function readQualifiers(tokens: TokenStream, at: number, divisions: readonly string[] = []): Qualified {
  const parts: Part[] = []
  let end = readRomanParagraph(tokens, at, parts)
  for (let round = 0; round < 8; round += 1) {
    const from = tokens.skip(tokens.skip(end, ','), 'the')
    const qualified = readQualifier(tokens, from) ?? readUnnumbered(tokens, from, divisions) ?? readSign(tokens, from)
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
  const token = tokens.get(at)
  const level = token?.kind === 'word' ? levelOfWord.get(token.text) : undefined
  if (token === undefined || level === undefined) return undefined
  const value = tokens.skip(at + 1, '.')
  return UNNUMBERED.has(token.text) && tokens.isNumber(value) ? undefined : readValue(tokens, value, level)
}

/** Reads another number of the same level after a connector: the `2` of `Abs. 1 und 2`. */
export function readSibling(tokens: TokenStream, at: number, keyword: string): Qualified | undefined {
  return readValue(tokens, at, { name: keyword, letters: keyword === 'point' })
}

function readValue(tokens: TokenStream, at: number, level: Level): Qualified | undefined {
  const brackets = readBrackets(tokens, at)
  const [first, ...rest] = brackets.parts
  if (first !== undefined) return { parts: [{ ...first, keyword: level.name }, ...rest], end: brackets.end }
  if (tokens.isNumber(at)) {
    const number = readDesignation(tokens, at)
    const [main, ...below] = number?.parts ?? []
    if (number === undefined || main === undefined || number.hyphen) return undefined
    return {
      parts: [{ text: main.text, kind: kindOf(main.text), keyword: level.name }, ...below],
      end: tokens.skip(number.end, '°'),
    }
  }
  const letter = level.letters ? readLetter(tokens, at) : undefined
  if (letter === undefined) return undefined
  return {
    parts: [{ text: letter.text, kind: 'letter', keyword: level.name }],
    end: tokens.reads(letter.end, ')') ? letter.end + 1 : letter.end,
  }
}

/** `Artikel 246a § 1 EGBGB`, `Artikels 250 §§ 1 bis 3`: sections within an article. */
function readSign(tokens: TokenStream, at: number): Qualified | undefined {
  const isDirect = tokens.reads(at, '§', '§§') && tokens.get(at - 1)?.text !== ','
  return isDirect ? readValue(tokens, at + 1, { name: 'section', letters: false }) : undefined
}

/** `Satz 2`, `S. 1`, `first subparagraph`, `2nd sentence`, `alinéa 1er`. */
function readUnnumbered(tokens: TokenStream, at: number, divisions: readonly string[]): Qualified | undefined {
  const isCounted = UNNUMBERED.has(tokens.text(at + 1)) || tokens.reads(at + 1, 'paragraph')
  if (ORDINALS.has(tokens.text(at)) && isCounted) return { parts: [], end: at + 2 }
  const word = tokens.get(at)
  if (divisions.includes(word?.text ?? '') && /^(?:[A-Z]|[IVX]+)$/.test(tokens.raw(at + 1)))
    return { parts: [], end: at + 2 }
  const isUnnumbered = word?.kind === 'word' && (UNNUMBERED.has(word.text) || divisions.includes(word.text))
  if (!isUnnumbered) return undefined
  const number = tokens.skip(at + 1, '.')
  if (!tokens.isNumber(number)) return undefined
  const suffix = tokens.get(number + 1)
  const end = suffix?.glued === true && suffix.text === 'er' ? number + 2 : number + 1
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
    const isPart = next !== undefined && (next.text === '(' || levelOfWord.has(next.text) || UNNUMBERED.has(next.text))
    if (value <= last || value > UNNUMBERED_MAX || isPart || (next?.glued === true && next.kind !== 'sign')) break
    ;[end, last] = [index + 1, value]
  }
  return end
}

/** `§ 823 I BGB`, `Art. 6 I 1 lit. f`: the paragraph as a Roman numeral, and the sentence after it. */
function readRomanParagraph(tokens: TokenStream, at: number, parts: Part[]): number {
  const token = tokens.get(at)
  if (
    token === undefined ||
    (token.glued && !tokens.isNumber(at - 1)) ||
    !ROMAN_PARAGRAPH.test(token.raw) ||
    !isRoman(token.text)
  )
    return at
  if (tokens.isGlued(at + 1) && tokens.reads(at + 1, "'", '-')) return at
  const next = tokens.get(at + 1)
  const isFollowed =
    next !== undefined &&
    (next.kind === 'number' || tokens.isCapitalised(at + 1) || levelOfWord.has(next.text) || UNNUMBERED.has(next.text))
  if (!isFollowed) return at
  parts.push({ text: String(romanValue(token.text)), kind: 'digit', keyword: 'paragraph' })
  return next.kind === 'number' && next.text.length === 1 ? at + 2 : at + 1
}

const BETWEEN_PARTS = new Set(
  ', auch in verbindung mit und oder sowie bis and or et ou des der du de of the'.split(' '),
)
const BETWEEN_PARTS_MAX = 24

/** `§ 29 Absatz 1, auch in Verbindung mit Absatz 6, des Betäubungsmittelgesetzes`: only parts stand between. */
export function areParts(tokens: TokenStream, from: number, to: number): boolean {
  if (to - from > BETWEEN_PARTS_MAX) return false
  for (let index = from; index < to; index += 1) {
    const { kind, text } = tokens.get(index) ?? { kind: 'sign', text: '' }
    if (kind !== 'number' && !BETWEEN_PARTS.has(text) && !levelOfWord.has(text) && !UNNUMBERED.has(text)) return false
  }
  return true
}

/** Skips `ff.`, `et seq.` and the like, which add nothing to look up. */
function afterFollowing(tokens: TokenStream, at: number): number {
  if (tokens.reads(at, 'et') && tokens.reads(at + 1, 'seq', 'seqq', 'suiv', 's')) return tokens.skip(at + 2, '.')
  if (tokens.reads(at, 'et', 'und') && tokens.reads(at + 1, 'suivants', 'suivantes', 'folgende')) return at + 2
  return tokens.reads(at, 'f', 'ff') ? tokens.skip(at + 1, '.') : at
}
