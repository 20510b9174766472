import { isFunctionWord } from '#core/index/analysis/analyzer.ts'
import { isRequestWord, measureOf, statesMeasure, type Measure } from '#core/index/analysis/request-words.ts'
import { words as wordsOf } from '#core/index/analysis/words.ts'
import { resemblancesIn, type PassageText, type RowWords } from './predictor-words.ts'
import { indexIn } from '#core/index/hash-table.ts'
import type { Question, QuestionWord } from './interfaces.ts'

/** Rare words count alike: a name that few passages have must not outweigh the topic. */
const IDF_MAX = 6
/** Weight of a word that the version lacks, in a version of any size: no passage of it can say what is asked. */
const ABSENT_WEIGHT = 7
/** A measure that is asked for and not stated decides: a provision without any fine answers no question about one. */
const MISSING_MEASURE_WEIGHT = 20
/** Dice coefficient from which a similar spelling counts, in part. */
const RESEMBLANCE_MIN = 0.5

/** A passage of a named provision. */
export interface NamedPassage {
  readonly text: PassageText
  readonly words: RowWords
}

/**
 * What passages of a named provision hold of what a question asks about it. A word weighs its idf, at most 6, or 7 if
 * the version lacks it.
 */
export interface NamedCoverage {
  /** The question asks for the provision itself. */
  readonly alone: boolean
  /** Weight that they lack; a measure that is asked for and not stated weighs 20. */
  readonly missing: number
  /** Share, at least 0, that one of the other texts holds beyond theirs. A measure weighs like any word here. */
  readonly elsewhere: number
}

/**
 * Compares what a question asks about a provision with the provision's passages. Words that only ask are left out, and
 * function words of the passages' languages, even where another language of the version has the word. A question that
 * holds no other word asks for the provision itself.
 * @param remainder the question without its references. @param others the words of other texts of the same document.
 */
export function namedCoverage(
  remainder: Question,
  passages: readonly NamedPassage[],
  others: readonly RowWords[],
): NamedCoverage {
  const texts = passages.map(({ text: { heading, text } }) => `${heading}\n${text}`)
  const asked = askedWords(remainder, passages, texts)
  const total = sumOf(asked, ({ weight }) => weight)
  if (total === 0) return { alone: true, missing: 0, elsewhere: 0 }
  const held = sumOf(asked, ({ weight, held: share }) => weight * share)
  const all = total + sumOf(asked, ({ weight, lacksMeasure }) => (lacksMeasure ? MISSING_MEASURE_WEIGHT - weight : 0))
  const weights = new Float64Array(remainder.words.length)
  for (const { index, weight } of asked) weights[index] = weight
  const best = others.reduce((most, words) => Math.max(most, heldWeight(remainder, weights, words)), 0)
  return { alone: false, missing: all - held, elsewhere: Math.max(0, best - held) / total }
}

/** Sum of the weights of a question's words that a text holds. @param weights by index in the question. */
export function heldWeight(question: Question, weights: Float64Array, words: RowWords): number {
  const seen = new Set<number>()
  for (const hash of words) {
    const index = indexIn(question.wordTable, hash)
    if (index !== -1) seen.add(index)
  }
  return sumOf([...seen], (index) => weights[index] ?? 0)
}

/** A word of a question that names a topic. */
interface AskedWord {
  readonly index: number
  readonly weight: number
  /** Share of the word that the passages hold, in [0, 1]. */
  readonly held: number
  /** The word asks for a measure that the passages do not state. */
  readonly lacksMeasure: boolean
}

function askedWords(
  remainder: Question,
  passages: readonly NamedPassage[],
  texts: readonly string[],
): readonly AskedWord[] {
  const said = resemblancesOf(remainder, passages)
  let present: ReadonlySet<string> | undefined
  const statesOf = (measure: Measure): boolean => {
    const words = (present ??= new Set(texts.flatMap((text) => wordsOf(text))))
    return texts.some((text) => statesMeasure(measure, text, words))
  }
  return remainder.words.flatMap((asked, index) => {
    const resemblance = said.get(index)
    if (resemblance === undefined || !namesTopic(asked)) return []
    const weight = asked.frequency === 0 ? ABSENT_WEIGHT : Math.min(asked.idf, IDF_MAX)
    const isHeld = resemblance >= RESEMBLANCE_MIN
    const measure = resemblance === 1 ? undefined : measureOf(asked.word)
    if (measure === undefined) return [{ index, weight, held: isHeld ? resemblance : 0, lacksMeasure: false }]
    const lacksMeasure = !statesOf(measure)
    return [{ index, weight, held: Number(!lacksMeasure), lacksMeasure }]
  })
}

function sumOf<Item>(items: readonly Item[], valueOf: (item: Item) => number): number {
  return items.reduce((sum, item) => sum + valueOf(item), 0)
}

/** Words that only ask name no topic, nor does a function word that no passage of the version holds. */
export function namesTopic({ word, frequency }: QuestionWord): boolean {
  return !isRequestWord(word) && (frequency > 0 || !isFunctionWord(word))
}

/** The best resemblance of each word in any of the passages, by index; none for function words of their languages. */
function resemblancesOf(remainder: Question, passages: readonly NamedPassage[]): ReadonlyMap<number, number> {
  const best = new Map<number, number>()
  for (const { text, words } of passages) {
    for (const [index, resemblance] of resemblancesIn(remainder, text, words))
      best.set(index, Math.max(best.get(index) ?? 0, resemblance))
  }
  return best
}
