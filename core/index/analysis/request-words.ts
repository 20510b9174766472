import KNOWN from './known-words.json' with { type: 'json' }
import { words } from './words.ts'

/**
 * Words that ask about a provision without naming a topic, folded, in the languages whose references are read: "what
 * does it say", "Inhalt von", "que dit". A question that holds nothing else asks for the provision as a whole.
 */
const REQUEST_WORDS = new Set(words(Object.values(KNOWN.request).join(' ')))

export function isRequestWord(word: string): boolean {
  return REQUEST_WORDS.has(word)
}

/** Words of one line measure the same; a passage that holds one of them, or a sign, states a measure of that kind. */
const MEASURES = KNOWN.measures.map(({ sign, words: line }: { sign?: string; words: string }) => ({
  signs: [...(sign ?? '')],
  words: new Set(words(line)),
}))

/** A kind of measure that a question asks for: time, an amount of money, a share, an age. */
export type Measure = (typeof MEASURES)[number]

/** Returns the kind of measure that a folded word asks for. */
export function measureOf(word: string): Measure | undefined {
  return MEASURES.find((measure) => measure.words.has(word))
}

/** Returns whether a text states a measure of the kind. @param held its folded words. */
export function statesMeasure({ signs, words: ofKind }: Measure, text: string, held: ReadonlySet<string>): boolean {
  if (signs.some((sign) => text.includes(sign))) return true
  for (const word of ofKind) if (held.has(word)) return true
  return false
}
