import { isFunctionWord } from '#core/index/analysis/analyzer.ts'
import { fold, words as wordsOf } from '#core/index/analysis/words.ts'

/** Three letters begin some words in a row of nearly every text. */
const ABBREVIATION = /(?<![\p{L}\p{N}])\p{Lu}{4,6}(?![\p{L}\p{N}])/gu

/** Words of a question that are written in four to six capitals, folded: `DPIA`. */
export function abbreviationsIn(question: string): ReadonlySet<string> {
  return new Set(Array.from(question.matchAll(ABBREVIATION), ([word]) => fold(word)))
}

/** Whether words in a row, without function words, begin with the letters: `data protection impact assessment`. */
export function spellsOut(text: string, abbreviation: string): boolean {
  const initials = wordsOf(text).flatMap((word) => (isFunctionWord(word) ? [] : word.slice(0, 1)))
  return initials.join('').includes(abbreviation)
}
