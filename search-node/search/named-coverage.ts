import { isFunctionWord } from '#core/index/analysis/analyzer.ts'
import { isRequestWord, measureOf, statesMeasure } from '#core/index/analysis/request-words.ts'
import type { Measure } from '#core/index/analysis/request-words.ts'
import { words as wordsOf } from '#core/index/analysis/words.ts'
import { resemblancesIn } from './predictor-words.ts'
import type { PassageText, RowWords } from './predictor-words.ts'
import type { Question, QuestionWord } from './question.ts'

/** Rare words count alike: a name that the corpus lacks must not outweigh the topic. */
const IDF_MAX = 6
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
 * Returns the share of what a question asks about a provision that the provision's passages contain, weighted by idf.
 * Words that only ask are left out, and function words of the passages' languages, even where another language of the
 * version has the word. A question that holds no other word asks for the provision itself and gets 1.
 * @param remainder the question without its references.
 * @returns in [0, 1].
 */
export function namedCoverage(remainder: Question, passages: readonly NamedPassage[]): number {
  const said = resemblancesOf(remainder, passages)
  const texts = passages.map(({ text: { heading, text } }) => `${heading}\n${text}`)
  let held: ReadonlySet<string> | undefined
  const states = (measure: Measure): boolean => {
    const present = (held ??= new Set(texts.flatMap((text) => wordsOf(text))))
    return texts.some((text) => statesMeasure(measure, text, present))
  }
  let [covered, total] = [0, 0]
  for (const [place, asked] of remainder.words.entries()) {
    const { word, idf } = asked
    const resemblance = said.get(place)
    if (resemblance === undefined || !namesTopic(asked)) continue
    const measure = resemblance === 1 ? undefined : measureOf(word)
    const isStated = measure !== undefined && states(measure)
    const weight = measure === undefined || isStated ? Math.min(idf, IDF_MAX) : MISSING_MEASURE_WEIGHT
    total += weight
    if (measure === undefined) covered += resemblance < RESEMBLANCE_MIN ? 0 : weight * resemblance
    else if (isStated) covered += weight
  }
  return total === 0 ? 1 : covered / total
}

/** Words that only ask name no topic, nor does a function word that no passage of the version holds. */
export function namesTopic({ word, frequency }: QuestionWord): boolean {
  return !isRequestWord(word) && (frequency > 0 || !isFunctionWord(word))
}

/** The best resemblance of each word in any of the passages, by place; none for function words of their languages. */
function resemblancesOf(remainder: Question, passages: readonly NamedPassage[]): ReadonlyMap<number, number> {
  const best = new Map<number, number>()
  for (const { text, words } of passages) {
    for (const [place, resemblance] of resemblancesIn(remainder, text, words))
      best.set(place, Math.max(best.get(place) ?? 0, resemblance))
  }
  return best
}
