import { memoized } from '#core/platform/memoized.ts'
import KNOWN from './known-words.json' with { type: 'json' }
import { indexWords, isStemmed } from './index-words.ts'
import { stemmerOf } from './stemmers.ts'
import { fold, words } from './words.ts'

/** Longer words are cut. A unit takes at most three UTF-8 bytes, so a term's length fits one byte. */
const TERM_UNITS_MAX = 64
/** Distinct words of a question that are used; the rest is ignored. */
const QUERY_WORDS_MAX = 256

const PRIMARY_SUBTAG_UNITS_MAX = 8
/** Words per language whose terms are cached. A full cache is cleared as a whole. */
const MEMORY_WORDS_MAX = 50_000
/** Texts per language whose terms are remembered: the revisions of a document mostly repeat each other. */
export const MEMORY_TEXTS_MAX = 4_000

type TermsOfWord = (word: string) => readonly string[]

/** A word of a question, and the terms that stand for it. */
export interface QueryWord {
  /** Folded. Of several words that share all terms, the first. */
  readonly word: string
  readonly count: number
  /** One term per language in which it is not a function word. Languages that index it alike have equal terms. */
  readonly terms: readonly { readonly language: string; readonly term: string }[]
}

/** A question after analysis. */
export interface AnalyzedQuestion {
  readonly words: readonly QueryWord[]
  /** All its terms in order, by primary language; equal to the result of `analyze`. */
  readonly terms: ReadonlyMap<string, readonly string[]>
}

/** By language. */
const functionWords = new Map(
  Object.entries(KNOWN.function).map(([language, list]) => [language, new Set(words(list))]),
)

/** Whether a folded word is a function word of any language that has a list. */
export function isFunctionWord(word: string): boolean {
  return [...functionWords.values()].some((list) => list.has(word))
}

/** Primary subtag of a BCP 47 language tag, lower case: `de` of `de-AT`. Texts are indexed by it. */
export function primaryLanguage(tag: string): string {
  const [primary = ''] = fold(tag).split('-')
  return primary.slice(0, PRIMARY_SUBTAG_UNITS_MAX)
}

/**
 * Returns the analysis of one folded word in one language. A function word gives no term, any other word its stem.
 * Numbers and legal tokens stay whole and also give the provisions around them: `words` gives `33(1)(a)` and `33`, and
 * `33(1)(a)` gives itself and `33(1)`. The result is the same on every machine.
 * @param language BCP 47. Without a stemmer for it, words are only folded.
 */
function termsOfWordIn(language: string): TermsOfWord {
  const primary = primaryLanguage(language)
  const dropped = functionWords.get(primary)
  const stem = stemmerOf(primary)
  return (word) => (dropped?.has(word) === true ? [] : termsOfWord(word, stem))
}

/**
 * Returns the terms of a text with repetitions, in order; identifiers that `words` splits come last.
 * @param language BCP 47.
 * @param wanted selects folded words, because stemming is the slowest step.
 */
export function analyze(text: string, language: string, wanted: (word: string) => boolean = () => true): string[] {
  const termsOf = termsOfWordIn(language)
  return termsOfText(text, (word) => (wanted(word) ? termsOf(word) : []))
}

/**
 * `analyze` for many passages, with a memory of words and texts. Questions must not use it: none of their words may be
 * retained.
 */
export function createAnalyzer(): (text: string, language: string) => readonly string[] {
  const ofLanguage = memoized((language) => {
    const termsOf = memoized(termsOfWordIn(language), MEMORY_WORDS_MAX)
    return memoized((text) => termsOfText(text, termsOf), MEMORY_TEXTS_MAX)
  }, MEMORY_TEXTS_MAX)
  return (text, language) => ofLanguage(language)(text)
}

function termsOfText(text: string, termsOf: TermsOfWord): string[] {
  const found: string[] = []
  for (const word of indexWords(text)) for (const term of termsOf(word)) found.push(term)
  return found
}

/**
 * Returns the distinct words of a question in order of first appearance. A word that is a function word in all given
 * languages is left out.
 */
export function analyzeQuestion(text: string, languages: readonly string[]): AnalyzedQuestion {
  const analyzers = [...new Set(languages.map(primaryLanguage))].map((language) => ({
    language,
    termsOf: termsOfWordIn(language),
    inOrder: [] as string[],
  }))
  const found = new Map<string, QueryWord>()
  for (const word of indexWords(text)) {
    // A word may give several terms (pairs of characters, enclosing provisions). Every language that keeps the word
    // gives as many.
    const termsAt: { language: string; term: string }[][] = []
    for (const { language, termsOf, inOrder } of analyzers) {
      let index = 0
      for (const term of termsOf(word)) {
        inOrder.push(term)
        ;(termsAt[index++] ??= []).push({ language, term })
      }
    }
    for (const [index, terms] of termsAt.entries()) {
      // No term holds a space or a line break.
      let key = ''
      for (const { language, term } of terms) key += `${language} ${term}\n`
      const known = found.get(key)
      if (known !== undefined) found.set(key, { ...known, count: known.count + 1 })
      else if (found.size < QUERY_WORDS_MAX)
        found.set(key, { word: index === 0 ? word : (terms[0]?.term ?? word), count: 1, terms })
    }
  }
  return { words: [...found.values()], terms: new Map(analyzers.map(({ language, inOrder }) => [language, inOrder])) }
}

function termsOfWord(word: string, stem: (word: string) => string): readonly string[] {
  if (word === '') return []
  return isStemmed(word) ? [cut(stem(cut(word)))] : [cut(word), ...enclosing(word)]
}

/** `33(1)` of `33(1)(a)`; `words` already gives `33`. */
function enclosing(word: string): string[] {
  const ends = [...word.matchAll(/\)(?=\()/g)].map(({ index }) => index + 1)
  return ends.map((end) => cut(word.slice(0, end)))
}

/** Cuts to TERM_UNITS_MAX units without splitting a surrogate pair. */
function cut(word: string): string {
  return word.length <= TERM_UNITS_MAX ? word : word.slice(0, TERM_UNITS_MAX).toWellFormed().replaceAll('\ufffd', '')
}
