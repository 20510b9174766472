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

/** Joiners, direction marks, variation selectors and fillers: characters that are not seen. */
const INVISIBLE = /\p{Default_Ignorable_Code_Point}/gu

/** Scripts with several spellings in use, or with digits of their own. */
const VARYING = /[\p{scx=Arabic}\p{scx=Devanagari}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]/u

/** What most writers of Arabic script leave out: signs of vowels, of hamza and of recitation, and the elongation. */
const ARABIC_SIGNS = /[[\p{M}&&\p{scx=Arabic}]\u0640]/gv
const NUKTA = /\u093c/g
const CHANDRABINDU = /\u0901/g
const ANUSVARA = '\u0902'
/** `ํ` and a tone mark stand in either order; `เเ` looks like `แ`. */
const NIKHAHIT_BEFORE_TONE = /([\u0e4d\u0ecd])([\u0e48-\u0e4b\u0ec8-\u0ecb])/g
const DOUBLE_SARA_E = /\u0e40\u0e40/g
const SARA_AE = '\u0e41'

/**
 * Letters that are written for one another: those of Arabic, Persian and Urdu keyboards, and Devanagari letters that
 * hold a nukta.
 */
const INTERCHANGEABLE: ReadonlyMap<string, string> = new Map([
  ...['\u0622', '\u0623', '\u0625', '\u0671'].map((alef) => [alef, '\u0627'] as const),
  ['\u0624', '\u0648'],
  ...['\u0626', '\u0649', '\u06cc'].map((yeh) => [yeh, '\u064a'] as const),
  ['\u0629', '\u0647'],
  ['\u06a9', '\u0643'],
  ['\u066b', '.'],
  ['\u066c', ','],
  ['\u0929', '\u0928'],
  ['\u0931', '\u0930'],
  ['\u0934', '\u0933'],
])
const INTERCHANGEABLE_LETTER = new RegExp(`[${[...INTERCHANGEABLE.keys()].join('')}]`, 'g')

const DIGIT = /[\p{Nd}--[0-9]]/gv
/** The zero of each script's digits; nine more follow it. */
const ZEROS = [0x06_60, 0x06_f0, 0x09_66, 0x0e_50, 0x0e_d0, 0x10_40, 0x10_90, 0x17_e0] as const

/** Removes the characters of a text that are not seen. */
function withoutInvisibles(text: string): string {
  return text.replace(INVISIBLE, '')
}

/**
 * Returns a folded text in one spelling, where several are in use in Arabic script, Devanagari, Thai and Lao, and with
 * the digits 0 to 9. Latin, Greek and Cyrillic letters stay as they are.
 */
function foldSpellings(folded: string): string {
  if (!VARYING.test(folded)) return folded
  return folded
    .replace(ARABIC_SIGNS, '')
    .replace(INTERCHANGEABLE_LETTER, (letter) => INTERCHANGEABLE.get(letter) ?? letter)
    .replace(NUKTA, '')
    .replace(CHANDRABINDU, ANUSVARA)
    .replace(NIKHAHIT_BEFORE_TONE, '$2$1')
    .replace(DOUBLE_SARA_E, SARA_AE)
    .replace(DIGIT, asciiDigit)
}

function asciiDigit(digit: string): string {
  const code = digit.codePointAt(0) ?? 0
  const zero = ZEROS.find((first) => code >= first && code <= first + 9)
  return zero === undefined ? digit : String(code - zero)
}
