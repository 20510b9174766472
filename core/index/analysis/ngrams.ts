import { hasUnspaced } from './scripts.ts'

/** Length of the shorter n-grams in UTF-16 units, the spaces around the word included; others are longer by one. */
const NGRAM_UNITS = 4
const SPACE = 0x20
/** Scripts without spaces begin here, with Thai. */
const UNSPACED_FROM = 0x0e00

/**
 * Returns a hash of each character n-gram of four or five letters of words, with repetitions. A word has a space on
 * each side, and one that is shorter gives itself. So do pairs of letters of a script without spaces. N-grams find a
 * word in its compounds and inflections without knowledge of the language (McNamee & Mayfield 2004). No hash is 0, which
 * hash tables use for a free slot.
 * @param words folded, as `indexWords` gives them.
 */
export function ngramHashes(words: readonly string[]): Int32Array {
  let most = 0
  for (const word of words) most += 2 * word.length + 1
  const hashes = new Int32Array(most)
  let count = 0
  for (const word of words) {
    const text = ` ${word} `
    if (text.length <= NGRAM_UNITS || (word.charCodeAt(0) >= UNSPACED_FROM && hasUnspaced(word))) {
      hashes[count++] = fnv1a(text) || 1
      continue
    }
    const longer = count + text.length - NGRAM_UNITS + 1
    // The last units are kept: reading each of them once takes half of the time.
    let [first, second, third] = [SPACE, word.charCodeAt(0), word.charCodeAt(1)]
    for (let at = 2; at <= word.length; at++) {
      const fourth = at < word.length ? word.charCodeAt(at) : SPACE
      const hash = nextHash(nextHash(nextHash(nextHash(OFFSET_BASIS, first), second), third), fourth)
      hashes[count++] = hash || 1
      if (at < word.length)
        hashes[longer + at - 2] = nextHash(hash, at + 1 < word.length ? word.charCodeAt(at + 1) : SPACE) || 1
      ;[first, second, third] = [second, third, fourth]
    }
    count = longer + word.length - 2
  }
  return hashes.subarray(0, count)
}

const OFFSET_BASIS = 0x811c_9dc5
const PRIME = 0x0100_0193

/**
 * FNV-1a (Fowler, Noll & Vo) over the UTF-16 units in [from, to); no part of the text is copied.
 * @param hash of the preceding text, or a seed.
 * @returns 32 bits, signed.
 */
export function fnv1a(text: string, hash: number = OFFSET_BASIS, from = 0, to = text.length): number {
  let mixed = hash
  for (let at = from; at < to; at++) mixed = Math.imul(mixed ^ text.charCodeAt(at), PRIME)
  return mixed
}

/** Returns the initial hash of a seed. */
export function fnvSeed(seed: number): number {
  return OFFSET_BASIS ^ seed
}

function nextHash(hash: number, unit: number): number {
  return Math.imul(hash ^ unit, PRIME)
}
