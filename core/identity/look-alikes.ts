import { readFileSync } from 'node:fs'
import { z } from 'zod'

const { letters } = z
  .object({ letters: z.record(z.string(), z.string()) })
  .parse(JSON.parse(readFileSync(new URL('look-alikes.json', import.meta.url), 'utf8')))
/** Letters of other scripts, and the letter of ASCII that each looks like (UTS #39). */
const LOOK_ALIKES = new Map(
  Object.entries(letters).flatMap(([latin, others]) => [...others].map((other) => [other, latin] as const)),
)
const WORD = /[\p{L}\p{M}]+/gu
const LATIN = /\p{sc=Latin}/u
const OTHER = /[\p{sc=Greek}\p{sc=Cyrillic}\p{sc=Armenian}\p{sc=Cherokee}\p{sc=Coptic}\p{sc=Lisu}]/u
const CAPITALS = /^\p{Lu}+$/u
const ASCII_ONLY = /^[\0-\x7f]*$/

/**
 * Returns the text with the letters that words in capitals, or of several scripts, look like: `СОВ 2` in Cyrillic is
 * `COB 2`. A word with a letter that looks like none is left as it is.
 */
export function withLatinLookAlikes(text: string): string {
  if (ASCII_ONLY.test(text) || !OTHER.test(text)) return text
  return text.replaceAll(WORD, (word) => {
    if (!OTHER.test(word) || !(LATIN.test(word) || CAPITALS.test(word))) return word
    const latin = Array.from(word, (letter) => (OTHER.test(letter) ? LOOK_ALIKES.get(letter) : letter))
    return latin.includes(undefined) ? word : latin.join('')
  })
}

/** Whether a word has letters of Latin and of a script that looks like it. */
export function hasMixedWord(text: string): boolean {
  if (ASCII_ONLY.test(text) || !OTHER.test(text)) return false
  return (text.match(WORD) ?? []).some((word) => LATIN.test(word) && OTHER.test(word))
}
