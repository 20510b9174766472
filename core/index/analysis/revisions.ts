import { foldSpellings, withoutInvisibles } from './letters.ts'
import { SCRIPT_STEMMERS } from './script-stemmers.ts'
import { hasUnspaced, letterPairs, scriptPieces } from './scripts.ts'
import { snowballStemmer } from './snowball.ts'
import { fold, foldedWords } from './words.ts'

/**
 * Revisions of the analysis, oldest first. A version's lexical index records the one of its terms, and its questions
 * are analysed by that one. All give the same terms for Latin, Greek and Cyrillic letters.
 */
export const ANALYSIS_REVISIONS = [1, 2] as const
export type AnalysisRevision = (typeof ANALYSIS_REVISIONS)[number]
/** Of the versions that this release builds. */
export const ANALYSIS_REVISION: AnalysisRevision = 2
/** Of the versions that record none. */
export const UNRECORDED_ANALYSIS_REVISION: AnalysisRevision = 1

export interface Analysis {
  /** Returns the folded words of a text in order, then the identifiers that `words` splits: `32024R1689`. */
  wordsOf(text: string): string[]
  /** @param language primary subtag. */
  stemmerOf(language: string): (word: string) => string
  /** How the letters of a word become terms: as they are, by pairs, or by the stemmer. `whole` if there are others. */
  kindOf(word: string): 'whole' | 'pairs' | 'stem'
}

/** Digits, letters and digits again. */
const MIXED = /\p{N}\p{L}+\p{N}/u
const MIXED_WORD = /(?<![\p{L}\p{N}])\p{N}+\p{L}+\p{N}[\p{L}\p{N}]*/gu

const LETTERS_ONLY = /^\p{L}+$/u
/** Vowel signs of Devanagari are marks. */
const LETTERS_AND_VOWEL_SIGNS_ONLY = /^[\p{L}[\p{scx=Devanagari}&&\p{M}]]+$/v
const FIRST_UNSPACED_SCRIPTS = ['Han', 'Hiragana', 'Katakana', 'Thai', 'Lao', 'Khmer', 'Myanmar']
const FIRST_UNSPACED = new RegExp(FIRST_UNSPACED_SCRIPTS.map((script) => `\\p{Script=${script}}`).join('|'), 'u')

/** Words end at spaces and punctuation. Only a word of letters alone is divided into pairs. */
const first: Analysis = {
  wordsOf(text) {
    const folded = fold(text)
    return [...foldedWords(folded), ...identifiers(text, folded)]
  },
  stemmerOf: snowballStemmer,
  kindOf(word) {
    if (!LETTERS_ONLY.test(word)) return 'whole'
    return FIRST_UNSPACED.test(word) ? 'pairs' : 'stem'
  },
}

/** Letters and digits of all scripts but Latin, Greek and Cyrillic. */
const OTHER_SCRIPT = /[[\p{L}\p{Nd}]--[\p{scx=Latin}\p{scx=Greek}\p{scx=Cyrillic}\p{scx=Common}]]/v

/**
 * Words also end where a script without spaces begins or ends. Varying spellings are folded. A text in Latin, Greek or
 * Cyrillic letters is analysed as by the first revision.
 */
const second: Analysis = {
  wordsOf(text) {
    if (!OTHER_SCRIPT.test(text)) return first.wordsOf(text)
    const visible = withoutInvisibles(text)
    const folded = foldSpellings(fold(visible))
    if (!hasUnspaced(folded)) return [...foldedWords(folded), ...identifiers(visible, folded)]
    const found: string[] = []
    const last: string[] = []
    for (const piece of scriptPieces(folded)) {
      const words = piece.unspaced ? letterPairs(piece.text) : foldedWords(piece.text)
      for (const word of words) found.push(word)
      if (!piece.unspaced) last.push(...identifiers(piece.text, piece.text))
    }
    return found.concat(last)
  },
  stemmerOf: (language) => SCRIPT_STEMMERS.get(language) ?? snowballStemmer(language),
  kindOf: (word) => (LETTERS_AND_VOWEL_SIGNS_ONLY.test(word) && !hasUnspaced(word) ? 'stem' : 'whole'),
}

function identifiers(text: string, folded: string): string[] {
  return MIXED.test(text) ? Array.from(folded.matchAll(MIXED_WORD), ([identifier]) => identifier) : []
}

export const ANALYSES: Readonly<Record<AnalysisRevision, Analysis>> = { 1: first, 2: second }
