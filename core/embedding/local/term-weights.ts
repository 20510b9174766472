import { staticIdf } from './static-idf.ts'
import { lightStem } from './light-stemmer.ts'
import { words } from '#core/index/analysis/words.ts'

/** Each word of a heading counts once more, because a heading states the subject of the provision. */
const HEADING_EXTRA_COUNT = 1

interface Term {
  count: number
  /** Static idf of the most informative word with this stem. */
  staticIdf: number
}

/**
 * Returns each stem of a text with its static idf × (1 + ln occurrences). The first line of several is the heading. A
 * text without words has no entries.
 */
export function termWeights(text: string): Map<string, number> {
  const counts = new Map<string, number>()
  const add = (part: string, times: number): void => {
    for (const word of words(part)) counts.set(word, (counts.get(word) ?? 0) + times)
  }
  const headingEnd = text.indexOf('\n')
  if (headingEnd > 0) add(text.slice(0, headingEnd), 1 + HEADING_EXTRA_COUNT)
  add(text.slice(headingEnd + 1), 1)

  const terms = new Map<string, Term>()
  for (const [word, count] of counts) {
    const wordStem = lightStem(word)
    const weight = staticIdf(word, wordStem)
    const term = terms.get(wordStem)
    if (term === undefined) terms.set(wordStem, { count, staticIdf: weight })
    else {
      term.count += count
      term.staticIdf = Math.max(term.staticIdf, weight)
    }
  }
  const weights = new Map<string, number>()
  for (const [wordStem, term] of terms) weights.set(wordStem, term.staticIdf * (1 + Math.log(term.count)))
  return weights
}
