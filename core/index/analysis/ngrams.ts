import { fnv1a } from './fnv.ts'
import { hasUnspaced } from './scripts.ts'

/** Lengths of an n-gram in UTF-16 units, the spaces around the word included. */
const NGRAM_UNITS = [4, 5] as const
/** Scripts without spaces begin here, with Thai. */
const UNSPACED_FROM = 0x0e00

/**
 * Returns a hash of each character n-gram of four or five letters of words, with repetitions. A word has a space on
 * each side, and one that is shorter gives itself. So do pairs of letters of a script without spaces. N-grams find a
 * word in its compounds and inflections without knowledge of the language (McNamee & Mayfield 2004).
 * @param words folded, as `indexWords` gives them.
 */
export function ngramHashes(words: readonly string[]): Int32Array {
  let most = 0
  for (const word of words) most += 2 * word.length + 1
  const hashes = new Int32Array(most)
  let count = 0
  for (const word of words) {
    const text = ` ${word} `
    const isWhole = text.length <= NGRAM_UNITS[0] || (word.charCodeAt(0) >= UNSPACED_FROM && hasUnspaced(word))
    if (isWhole) hashes[count++] = hashOf(text, 0, text.length)
    else
      for (const units of NGRAM_UNITS)
        for (let from = 0; from + units <= text.length; from++) hashes[count++] = hashOf(text, from, from + units)
  }
  return hashes.subarray(0, count)
}

/** Never 0, which hash tables use for a free slot. */
function hashOf(text: string, from: number, to: number): number {
  return fnv1a(text, undefined, from, to) || 1
}
