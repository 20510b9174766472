import { tokenise } from './tokens.ts'
import type { Token } from './tokens.ts'

/** The tokens of one text, read by position. A position outside the text has no token. */
export interface TokenStream {
  readonly length: number
  /** The token at this position; undefined outside. */
  get(at: number): Token | undefined
  slice(from: number, to: number): readonly Token[]
  /** Whether a token passes the test. */
  some(test: (token: Token, at: number) => boolean): boolean
  /** The folded text at this position; empty outside. */
  text(at: number): string
  /** The text at this position as written; empty outside. */
  raw(at: number): string
  isWord(at: number): boolean
  isNumber(at: number): boolean
  /** Whether a `§` or `§§` is here. */
  isSectionSign(at: number): boolean
  /** Whether a token is here that nothing separates from the previous one. */
  isGlued(at: number): boolean
  /** Whether the token at this position is one of `texts`. */
  reads(at: number, ...texts: readonly string[]): boolean
  /** Returns the position after one of these texts if it is here, else the same position. */
  skip(at: number, ...texts: readonly string[]): number
  /** Returns the number at this position if its count of digits is within the bounds. */
  digits(at: number, least: number, most: number): string | undefined
  /**
   * Returns the position after an abbreviation, with or without its full stops (`U.S.C.`, `USC`, `U. S. C.`). Undefined
   * if it is not here.
   */
  afterAbbreviation(at: number, letters: string): number | undefined
}

/** Returns the tokens of a text, in time linear in its length. */
export function lex(text: string): TokenStream {
  const tokens = tokenise(text)
  const textAt = (at: number): string => tokens[at]?.text ?? ''
  function reads(at: number, ...texts: readonly string[]): boolean {
    const found = tokens[at]?.text
    return found !== undefined && texts.includes(found)
  }
  const skip = (at: number, ...texts: readonly string[]): number => (reads(at, ...texts) ? at + 1 : at)
  function digits(at: number, least: number, most: number): string | undefined {
    const token = tokens[at]
    if (token?.kind !== 'number' || token.text.length < least || token.text.length > most) return undefined
    return token.text
  }
  function afterAbbreviation(at: number, letters: string): number | undefined {
    if (reads(at, letters)) return skip(at + 1, '.')
    let index = at
    for (const letter of letters) {
      if (!reads(index, letter)) return undefined
      index = skip(index + 1, '.')
    }
    return index
  }
  return {
    length: tokens.length,
    get: (at) => tokens[at],
    slice: (from, to) => tokens.slice(from, to),
    some: (test) => tokens.some(test),
    text: textAt,
    raw: (at) => tokens[at]?.raw ?? '',
    isWord: (at) => tokens[at]?.kind === 'word',
    isNumber: (at) => tokens[at]?.kind === 'number',
    isSectionSign: (at) => textAt(at).startsWith('§'),
    isGlued: (at) => tokens[at]?.glued === true,
    reads,
    skip,
    digits,
    afterAbbreviation,
  }
}
