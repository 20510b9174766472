import KNOWN from '#core/index/analysis/known-words.json' with { type: 'json' }
import { withLatinLookAlikes } from '#core/identity/look-alikes.ts'
import { fold } from '#core/index/analysis/words.ts'

/** A run of letters, a run of digits, or one other visible character (`§§` is one, and raised digits: `^3`). */
export interface Token {
  readonly kind: 'word' | 'number' | 'sign'
  /** Folded: lower case, without diacritics; dashes and apostrophes unified. */
  readonly text: string
  /** Text of the token in compatibility form (NFKC), with capitals. */
  readonly raw: string
  /** Offsets in the query, in UTF-16 units. */
  readonly start: number
  readonly end: number
  /** Nothing separates it from the previous token. */
  readonly glued: boolean
}

const TOKEN = /[ºª°]|[\p{L}\p{M}〇\u00ad\u200b-\u200d]+|\p{Nd}+|§+|[⁰¹²³⁴-⁹₀-₉]+|\^\p{Nd}+|[^\s]/gu
/** Raised and lowered digits are digits of their own: `18³` is written `18^3`, and is not `183`. */
const RAISED = /^[⁰¹²³⁴-⁹₀-₉]/
/** Soft hyphens, joiners and direction marks, which editors insert before numbers. */
const INVISIBLE = /[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g
const ASCII_ONLY = /^[\0-\x7f]*$/
const SIGNS: ReadonlyMap<string, string> = new Map(
  Object.entries({ '‐': '-', '‑': '-', '–': '–', '—': '–', '−': '–', '’': "'", '‘': "'", ʼ: "'", º: '°', ª: '°' }),
)

const CJK = /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Hang}]/u

/** Returns the tokens of a text in order, in time linear in its length. */
export function tokenise(text: string): Token[] {
  const tokens: Token[] = []
  let previousEnd = -1
  for (const match of text.matchAll(TOKEN)) {
    const start = match.index
    const end = start + match[0].length
    const raw = ASCII_ONLY.test(match[0]) ? match[0] : plain(match[0])
    const folded = SIGNS.get(match[0]) ?? SIGNS.get(raw) ?? (RAISED.test(match[0]) ? `^${raw}` : fold(raw))
    const glued = start === previousEnd
    if (CJK.test(folded) && folded.length === match[0].length) {
      let from = start
      for (const piece of cjkPieces(folded, glued && tokens.at(-1)?.kind === 'number')) {
        const shown = hanNumber(piece) ?? piece
        const [at, to] = [from, from + piece.length]
        tokens.push({ kind: kindOf(shown), text: shown, raw: piece, start: at, end: to, glued: glued || at > start })
        from += piece.length
      }
    } else if (folded !== '') tokens.push({ kind: kindOf(folded), text: folded, raw, start, end, glued })
    if (folded !== '' || glued) previousEnd = end
  }
  return tokens
}

function plain(written: string): string {
  const text = withLatinLookAlikes(written.normalize('NFKC').replace(INVISIBLE, ''))
  // The digits of India begin at the seventh place of a row, those of other scripts at the first.
  const valueOf = (digit: string) => String(((digit.codePointAt(0) ?? 0) - (/[ऀ-෯]/.test(digit) ? 6 : 0)) % 16)
  return /^\p{Nd}/u.test(text) ? text.replace(/[^\P{Nd}0-9]/gu, valueOf) : text
}

function kindOf(folded: string): Token['kind'] {
  if (/^[0-9]+$/.test(folded)) return 'number'
  return /^\p{L}/u.test(folded) ? 'word' : 'sign'
}

/** Articles, prepositions, pronouns and auxiliaries: they begin no name, whatever their case. */
export const FUNCTION_WORD_FORMS: ReadonlySet<string> = new Set(
  Object.values(KNOWN.function).flatMap((list) => list.split(' ').map(fold)),
)

/** No official identifier is longer. */
const MATCHED_TOKENS_MAX = 48

/** The tokens of one text, read by position. A position outside the text has no token. */
export class TokenStream {
  readonly #tokens: readonly Token[]
  /** Words for provisions that no table has. */
  readonly designators: ReadonlySet<string>

  constructor(tokens: readonly Token[], designators: ReadonlySet<string> = new Set()) {
    this.#tokens = tokens
    this.designators = designators
  }

  get length(): number {
    return this.#tokens.length
  }

  get(at: number): Token | undefined {
    return this.#tokens[at]
  }

  slice(from: number, to: number): readonly Token[] {
    return this.#tokens.slice(from, to)
  }

  some(test: (token: Token, at: number) => boolean): boolean {
    return this.#tokens.some(test)
  }

  /** The words from a position to another one, as they stand in an id. */
  words(from: number, to: number): string {
    const words = this.#tokens.slice(from, to).filter(({ kind }) => kind !== 'sign')
    return words.map(({ text }) => text).join('-')
  }

  /** The folded text at this position; empty outside. */
  text(at: number): string {
    return this.#tokens[at]?.text ?? ''
  }

  /** The text at this position as written; empty outside. */
  raw(at: number): string {
    return this.#tokens[at]?.raw ?? ''
  }

  isWord(at: number): boolean {
    return this.#tokens[at]?.kind === 'word'
  }

  isNumber(at: number): boolean {
    return this.#tokens[at]?.kind === 'number'
  }

  /** Whether a token is here that nothing separates from the previous one. */
  isGlued(at: number): boolean {
    return this.#tokens[at]?.glued === true
  }

  /** Whether what is here goes on with the word or the number before it: letters, digits or one of the signs. */
  isContinued(at: number, ...signs: readonly string[]): boolean {
    const token = this.#tokens[at]
    return token?.glued === true && (token.kind !== 'sign' || signs.includes(token.text))
  }

  isCapitalised(at: number): boolean {
    return /^\p{Lu}/u.test(this.raw(at))
  }

  /** Whether a word is here that may join a designator to its number or its act: `ya`, `faha`, `No`. */
  isSmall(at: number): boolean {
    return /^(?:\p{Ll}{1,4}|N[or]?)$/u.test(this.raw(at))
  }

  /** Whether a `§` or `§§` is here. */
  isSectionSign(at: number): boolean {
    return this.text(at).startsWith('§')
  }

  /** Whether a year since 1800 is here, by which acts are named. */
  isYear(at: number): boolean {
    return /^(?:1[89]|20)\d\d$/.test(this.text(at))
  }

  /** Whether the token at this position is one of `texts`. */
  reads(at: number, ...texts: readonly string[]): boolean {
    const token = this.#tokens[at]
    return token !== undefined && texts.includes(token.text)
  }

  /** Returns the position after one of these texts if it is here, else the same position. */
  skip(at: number, ...texts: readonly string[]): number {
    return this.reads(at, ...texts) ? at + 1 : at
  }

  /** Returns the number at this position if its count of digits is within the bounds. */
  digits(at: number, least: number, most: number): string | undefined {
    const text = this.text(at)
    return this.isNumber(at) && text.length >= least && text.length <= most ? text : undefined
  }

  /**
   * Matches the folded text that no space interrupts from this position on. Returns the groups, and the position after
   * the last token of the match. Undefined where the match ends within a token.
   */
  match(at: number, pattern: RegExp): { readonly groups: readonly string[]; readonly end: number } | undefined {
    let text = this.text(at)
    const ends = [text.length]
    for (let index = at + 1; this.isGlued(index) && ends.length < MATCHED_TOKENS_MAX; index += 1) {
      text += this.text(index)
      ends.push(text.length)
    }
    const found = pattern.exec(text)
    const last = found === null ? -1 : ends.indexOf(found[0].length)
    return last < 0 ? undefined : { groups: [...(found ?? [])].map((group) => group ?? ''), end: at + last + 1 }
  }

  /** Returns the position after an abbreviation, with or without its full stops (`U.S.C.`, `USC`, `U. S. C.`). */
  afterAbbreviation(at: number, letters: string): number | undefined {
    if (this.reads(at, letters)) return this.skip(at + 1, '.')
    let index = at
    for (const letter of letters) {
      if (!this.reads(index, letter)) return undefined
      index = this.skip(index + 1, '.')
    }
    return index
  }
}

/** Returns the tokens of a text, in time linear in its length. */
export function lex(text: string, designators?: ReadonlySet<string>): TokenStream {
  return new TokenStream(tokenise(text), designators)
}

const PIECES =
  /第|[〇零一二三四五六七八九十百千]+(?=[条條項号款之の]|$)|[条條項号款](?=第|の|之|$)|之(?=[一二三四五六七八九十]+$)|[\p{sc=Han}\p{sc=Kana}ー]+?(?=第|$|[\p{sc=Hira}])|\p{sc=Hira}+|\p{sc=Hang}+[법령칙례률](?=[제의]$)|\p{sc=Hang}+/gu
const DIGITS = '〇一二三四五六七八九'
const UNITS: Readonly<Record<string, number>> = { 十: 10, 百: 100, 千: 1000 }

/** Cuts a run of letters where words of a citation begin: `民法第七百九条` is five words. */
function cjkPieces(run: string, afterNumber: boolean): readonly string[] {
  // `750조는`: a counter, and a particle.
  const counter = afterNumber ? /^(?:[条條項号款の조항호의])/u.exec(run)?.[0] : undefined
  if (counter !== undefined && counter !== run)
    return [counter, ...cjkPieces(run.slice(counter.length), counter !== 'の')]
  if (counter !== undefined) return [run]
  const pieces = run.match(PIECES) ?? [run]
  return pieces.join('') === run ? pieces : [run]
}

/** The value of a number in Han figures: `七百九` is 709. */
function hanNumber(text: string): string | undefined {
  if (!/^[〇零一二三四五六七八九十百千]+$/u.test(text)) return undefined
  let [sum, digit] = [0, 0]
  for (const figure of text) {
    const unit = UNITS[figure]
    if (unit === undefined) digit = digit * 10 + Math.max(0, DIGITS.indexOf(figure))
    else [sum, digit] = [sum + Math.max(digit, 1) * unit, 0]
  }
  return String(sum + digit)
}
