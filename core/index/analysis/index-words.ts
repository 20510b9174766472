import { foldSpellings, withoutInvisibles } from './letters.ts'
import { hasUnspaced, letterPairs, scriptPieces } from './scripts.ts'
import { fold, foldedWords } from './words.ts'

/** Digits, letters and digits again. */
const MIXED = /\p{N}\p{L}+\p{N}/u
const MIXED_WORD = /(?<![\p{L}\p{N}])\p{N}+\p{L}+\p{N}[\p{L}\p{N}]*/gu

/** Letters and digits of all scripts but Latin, Greek and Cyrillic. */
const OTHER_SCRIPT = /[[\p{L}\p{Nd}]--[\p{scx=Latin}\p{scx=Greek}\p{scx=Cyrillic}\p{scx=Common}]]/v
/** Vowel signs of Devanagari are marks. */
const LETTERS_AND_VOWEL_SIGNS_ONLY = /^[\p{L}[\p{scx=Devanagari}&&\p{M}]]+$/v

/**
 * Returns the folded words of a text in order, then the identifiers that `words` splits: `32024R1689`. Words also end
 * where a script without spaces begins or ends; such a script gives pairs of letters. Varying spellings are folded.
 */
export function indexWords(text: string): string[] {
  if (!OTHER_SCRIPT.test(text)) return wordsAndIdentifiers(text, fold(text))
  const visible = withoutInvisibles(text)
  const folded = foldSpellings(fold(visible))
  if (!hasUnspaced(folded)) return wordsAndIdentifiers(visible, folded)
  const found: string[] = []
  const last: string[] = []
  for (const piece of scriptPieces(folded)) {
    const words = piece.unspaced ? letterPairs(piece.text) : foldedWords(piece.text)
    for (const word of words) found.push(word)
    if (!piece.unspaced) last.push(...identifiers(piece.text, piece.text))
  }
  return found.concat(last)
}

function wordsAndIdentifiers(text: string, folded: string): string[] {
  return [...foldedWords(folded), ...identifiers(text, folded)]
}

function identifiers(text: string, folded: string): string[] {
  return MIXED.test(text) ? Array.from(folded.matchAll(MIXED_WORD), ([identifier]) => identifier) : []
}

/** Whether a word is of letters that are stemmed; other words become terms as they are. */
export function isStemmed(word: string): boolean {
  return LETTERS_AND_VOWEL_SIGNS_ONLY.test(word) && !hasUnspaced(word)
}
