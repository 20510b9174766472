import { FUNCTION_WORDS } from './function-words.ts'
import { snowballStemmer } from './snowball.ts'
import { fold, words } from './words.ts'

/** Longer words are cut: at most three UTF-8 bytes a unit, a term's length fits one byte. */
const TERM_UNITS_MAX = 64
/** Distinct words of a question that are looked at; the rest is ignored. */
const QUERY_WORDS_MAX = 256

/** Scripts that do not part words by spaces: their runs are indexed as pairs of neighbouring characters. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u
const PRIMARY_SUBTAG_UNITS_MAX = 8
/** Words whose terms are remembered, of each language; forgotten all at once. */
const MEMORY_WORDS_MAX = 50_000

/** Digits, letters and digits again. */
const MIXED = /\p{N}\p{L}+\p{N}/u
const MIXED_WORD = /(?<![\p{L}\p{N}])\p{N}+\p{L}+\p{N}[\p{L}\p{N}]*/gu
const LETTERS_ONLY = /^\p{L}+$/u

type TermsOfWord = (word: string) => readonly string[]

/** A word of a question, and the terms that stand for it. */
export interface QueryWord {
  /** Folded; of several that share all terms, the first. */
  readonly word: string
  /** How often the question says it. */
  readonly count: number
  /** One for each language in which it is more than a function word; languages that index it alike have equal terms. */
  readonly terms: readonly { readonly language: string; readonly term: string }[]
}

/** A question as it is looked up. */
export interface AnalyzedQuestion {
  readonly words: readonly QueryWord[]
  /** All its terms by primary language, in order: what `analyze` gives. */
  readonly terms: ReadonlyMap<string, readonly string[]>
}

const functionWordLists = FUNCTION_WORDS.trim().split('\n\n')
const functionWords = new Map(
  ['en', 'de', 'fr'].map((language, place) => [language, new Set(words(functionWordLists[place] ?? ''))]),
)

/** Primary subtag of a BCP 47 language tag, lower case: `de` of `de-AT`. Texts are indexed by it. */
export function primaryLanguage(tag: string): string {
  const [primary = ''] = fold(tag).split('-')
  return primary.slice(0, PRIMARY_SUBTAG_UNITS_MAX)
}

/**
 * The terms of one folded word, in one language: none of a function word, the stem of any other; numbers and legal
 * tokens stay whole and give the provision around them besides (`words` gives `33(1)(a)` and `33`; the first gives
 * `33(1)(a)` and `33(1)`). The same on every machine.
 * @param language BCP 47; without a stemmer of its own, words are only folded.
 */
function termsOfWordIn(language: string): TermsOfWord {
  const primary = primaryLanguage(language)
  const dropped = functionWords.get(primary)
  const stem = snowballStemmer(primary)
  return (word) => (dropped?.has(word) === true ? [] : termsOfWord(word, stem))
}

/**
 * The folded words of a text (`words`), and after them its identifiers that `words` takes apart: `32024R1689`,
 * `2019L0944`.
 */
function indexedWords(text: string): string[] {
  const found = words(text)
  if (MIXED.test(text)) for (const [identifier] of fold(text).matchAll(MIXED_WORD)) found.push(identifier)
  return found
}

/**
 * The terms of a text, as often as they occur; in order but for those identifiers.
 * @param language BCP 47. @param wanted which folded words: stemming takes longer than all else.
 */
export function analyze(text: string, language: string, wanted: (word: string) => boolean = () => true): string[] {
  const termsOf = termsOfWordIn(language)
  return termsOfText(text, (word) => (wanted(word) ? termsOf(word) : []))
}

/**
 * `analyze` for many passages: remembers the terms of words. Not for questions, of which nothing may be remembered.
 */
export function createAnalyzer(): (text: string, language: string) => string[] {
  const languages = new Map<string, TermsOfWord>()
  return (text, language) => {
    const known = languages.get(language) ?? memoized(termsOfWordIn(language))
    languages.set(language, known)
    return termsOfText(text, known)
  }
}

function memoized(termsOf: TermsOfWord): TermsOfWord {
  const memory = new Map<string, readonly string[]>()
  return (word) => {
    const known = memory.get(word)
    if (known !== undefined) return known
    if (memory.size >= MEMORY_WORDS_MAX) memory.clear()
    const terms = termsOf(word)
    memory.set(word, terms)
    return terms
  }
}

function termsOfText(text: string, termsOf: TermsOfWord): string[] {
  const found: string[] = []
  for (const word of indexedWords(text)) for (const term of termsOf(word)) found.push(term)
  return found
}

/** The words of a question, by first appearance, each once; function words of every given language are left out. */
export function analyzeQuestion(text: string, languages: readonly string[]): AnalyzedQuestion {
  const analyzers = [...new Set(languages.map(primaryLanguage))].map((language) => ({
    language,
    termsOf: termsOfWordIn(language),
    inOrder: [] as string[],
  }))
  const found = new Map<string, QueryWord>()
  for (const word of indexedWords(text)) {
    // A word gives several terms in a row (pairs of characters, enclosing provisions), as many in every language that
    // keeps it.
    const places: { language: string; term: string }[][] = []
    for (const { language, termsOf, inOrder } of analyzers) {
      for (const [place, term] of termsOf(word).entries()) {
        inOrder.push(term)
        ;(places[place] ??= []).push({ language, term })
      }
    }
    for (const [place, terms] of places.entries()) {
      const key = JSON.stringify(terms)
      const known = found.get(key)
      if (known !== undefined) found.set(key, { ...known, count: known.count + 1 })
      else if (found.size < QUERY_WORDS_MAX)
        found.set(key, { word: place === 0 ? word : (terms[0]?.term ?? word), count: 1, terms })
    }
  }
  return { words: [...found.values()], terms: new Map(analyzers.map(({ language, inOrder }) => [language, inOrder])) }
}

function termsOfWord(word: string, stem: (word: string) => string): readonly string[] {
  if (word === '') return []
  if (LETTERS_ONLY.test(word)) return UNSPACED.test(word) ? characterPairs(word) : [cut(stem(cut(word)))]
  return [cut(word), ...enclosing(word)]
}

/** `33(1)` of `33(1)(a)`; `words` already gives `33`. */
function enclosing(word: string): string[] {
  const ends = [...word.matchAll(/\)(?=\()/g)].map(({ index }) => index + 1)
  return ends.map((end) => cut(word.slice(0, end)))
}

function characterPairs(word: string): readonly string[] {
  const characters = [...word]
  return characters.length < 2
    ? [word]
    : characters.slice(1).map((character, before) => `${characters[before] ?? ''}${character}`)
}

/** Never through the middle of a surrogate pair. */
function cut(word: string): string {
  return word.length <= TERM_UNITS_MAX ? word : word.slice(0, TERM_UNITS_MAX).toWellFormed().replaceAll('\ufffd', '')
}
