import { FUNCTION_WORDS } from '#core/index/analysis/function-words.ts'
import { COMMON_WORDS, VERY_COMMON_WORDS } from './common-words.ts'
import { lightStem } from './light-stemmer.ts'
import { startsWithDigit, words } from '#core/index/analysis/words.ts'

/**
 * Static idf: how informative a word is, without a corpus, in place of its inverse document frequency. Function words
 * have a small weight, so that a text of nothing else still has a direction.
 */
const WEIGHT = { functionWord: 0.1, enumerator: 0.2, veryCommon: 0.65, number: 0.8, common: 0.85, other: 1 } as const

/** Numbers of the parts of a provision: one character, or a small Roman numeral. */
const ENUMERATOR = /^(?:.|[ivx]+)$/u

const functionWords = new Set(words(FUNCTION_WORDS))
const weightOfStem = new Map<string, number>()
for (const word of words(COMMON_WORDS)) weightOfStem.set(lightStem(word), WEIGHT.common)
for (const word of words(VERY_COMMON_WORDS)) weightOfStem.set(lightStem(word), WEIGHT.veryCommon)

/** Returns the weight in (0, 1] of one word of `words()`, given its stem. */
export function staticIdf(word: string, stemOfWord: string): number {
  if (functionWords.has(word)) return WEIGHT.functionWord
  if (ENUMERATOR.test(word)) return WEIGHT.enumerator
  if (startsWithDigit(word)) return WEIGHT.number
  return weightOfStem.get(stemOfWord) ?? WEIGHT.other
}
