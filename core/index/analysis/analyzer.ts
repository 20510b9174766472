import { FUNCTION_WORDS } from './function-words.ts'
import { ANALYSES, ANALYSIS_REVISION } from './revisions.ts'
import type { Analysis, AnalysisRevision } from './revisions.ts'
import { neighbourPairs } from './scripts.ts'
import { fold, words } from './words.ts'

/** Longer words are cut. A unit takes at most three UTF-8 bytes, so a term's length fits one byte. */
const TERM_UNITS_MAX = 64
/** Distinct words of a question that are used; the rest is ignored. */
const QUERY_WORDS_MAX = 256

const PRIMARY_SUBTAG_UNITS_MAX = 8
/** Words per language whose terms are cached. A full cache is cleared as a whole. */
const MEMORY_WORDS_MAX = 50_000

type TermsOfWord = (word: string) => readonly string[]

/** A word of a question, and the terms that stand for it. */
export interface QueryWord {
  /** Folded. Of several words that share all terms, the first. */
  readonly word: string
  /** Number of occurrences in the question. */
  readonly count: number
  /** One term per language in which it is not a function word. Languages that index it alike have equal terms. */
  readonly terms: readonly { readonly language: string; readonly term: string }[]
}

/** A question after analysis. */
export interface AnalyzedQuestion {
  /** Of the version that is asked. */
  readonly revision: AnalysisRevision
  readonly words: readonly QueryWord[]
  /** All its terms in order, by primary language; equal to the result of `analyze`. */
  readonly terms: ReadonlyMap<string, readonly string[]>
}

const functionWordLists = FUNCTION_WORDS.trim().split('\n\n')
const functionWords = new Map(
  ['en', 'de', 'fr'].map((language, place) => [language, new Set(words(functionWordLists[place] ?? ''))]),
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
 * the former gives `33(1)(a)` and `33(1)`. The result is the same on every machine.
 * @param language BCP 47. Without a stemmer for it, words are only folded.
 */
function termsOfWordIn(language: string, analysis: Analysis): TermsOfWord {
  const primary = primaryLanguage(language)
  const dropped = functionWords.get(primary)
  const stem = analysis.stemmerOf(primary)
  return (word) => (dropped?.has(word) === true ? [] : termsOfWord(word, analysis, stem))
}

/**
 * Returns the terms of a text with repetitions, in order; identifiers that `words` splits come last.
 * @param language BCP 47.
 * @param wanted selects folded words, because stemming is the slowest step.
 */
export function analyze(
  text: string,
  language: string,
  {
    revision = ANALYSIS_REVISION,
    wanted = () => true,
  }: { readonly revision?: AnalysisRevision; readonly wanted?: (word: string) => boolean } = {},
): string[] {
  const analysis = ANALYSES[revision]
  const termsOf = termsOfWordIn(language, analysis)
  return termsOfText(text, analysis, (word) => (wanted(word) ? termsOf(word) : []))
}

/**
 * `analyze` for many passages, with a cache of terms. Questions must not use it: none of their words may be retained.
 */
export function createAnalyzer(): (text: string, language: string) => string[] {
  const analysis = ANALYSES[ANALYSIS_REVISION]
  const languages = new Map<string, TermsOfWord>()
  return (text, language) => {
    const known = languages.get(language) ?? memoized(termsOfWordIn(language, analysis))
    languages.set(language, known)
    return termsOfText(text, analysis, known)
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

function termsOfText(text: string, { wordsOf }: Analysis, termsOf: TermsOfWord): string[] {
  const found: string[] = []
  for (const word of wordsOf(text)) for (const term of termsOf(word)) found.push(term)
  return found
}

/**
 * Returns the distinct words of a question in order of first appearance. A word that is a function word in all given
 * languages is left out.
 * @param revision that of the terms of the version that is asked.
 */
export function analyzeQuestion(
  text: string,
  languages: readonly string[],
  revision: AnalysisRevision = ANALYSIS_REVISION,
): AnalyzedQuestion {
  const analysis = ANALYSES[revision]
  const analyzers = [...new Set(languages.map(primaryLanguage))].map((language) => ({
    language,
    termsOf: termsOfWordIn(language, analysis),
    inOrder: [] as string[],
  }))
  const found = new Map<string, QueryWord>()
  for (const word of analysis.wordsOf(text)) {
    // A word may give several terms (pairs of characters, enclosing provisions). Every language that keeps the word
    // gives as many.
    const places: { language: string; term: string }[][] = []
    for (const { language, termsOf, inOrder } of analyzers) {
      let place = 0
      for (const term of termsOf(word)) {
        inOrder.push(term)
        ;(places[place++] ??= []).push({ language, term })
      }
    }
    for (const [place, terms] of places.entries()) {
      // No term holds a space or a line break.
      let key = ''
      for (const { language, term } of terms) key += `${language} ${term}\n`
      const known = found.get(key)
      if (known !== undefined) found.set(key, { ...known, count: known.count + 1 })
      else if (found.size < QUERY_WORDS_MAX)
        found.set(key, { word: place === 0 ? word : (terms[0]?.term ?? word), count: 1, terms })
    }
  }
  return {
    revision,
    words: [...found.values()],
    terms: new Map(analyzers.map(({ language, inOrder }) => [language, inOrder])),
  }
}

function termsOfWord(word: string, { kindOf }: Analysis, stem: (word: string) => string): readonly string[] {
  if (word === '') return []
  const kind = kindOf(word)
  if (kind === 'pairs') return neighbourPairs([...word])
  return kind === 'stem' ? [cut(stem(cut(word)))] : [cut(word), ...enclosing(word)]
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
