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
 * hash tables use for a free slot. The hashes are valid until the next call.
 * @param words folded, as `indexWords` gives them, with one space between two: reading them one by one costs more.
 */
export function ngramHashes(words: string): Int32Array {
  if (hashes.length < 2 * words.length + 1) hashes = new Int32Array(4 * words.length + 1)
  let count = 0
  for (let from = 0, to = 0; from < words.length; from = to + 1) {
    to = words.indexOf(' ', from)
    if (to === -1) to = words.length
    const initial = nextHash(OFFSET_BASIS, SPACE)
    if (to - from + 2 <= NGRAM_UNITS || isUnspaced(words, from, to)) {
      hashes[count++] = nextHash(fnv1a(words, initial, from, to), SPACE) || 1
      continue
    }
    const longer = count + to - from + 2 - NGRAM_UNITS + 1
    // The last units are kept: reading each of them once takes half of the time.
    let [first, second, third] = [SPACE, words.charCodeAt(from), words.charCodeAt(from + 1)]
    for (let at = from + 2; at <= to; at++) {
      const fourth = at < to ? words.charCodeAt(at) : SPACE
      const hash = nextHash(nextHash(nextHash(nextHash(OFFSET_BASIS, first), second), third), fourth)
      hashes[count++] = hash || 1
      if (at < to) hashes[longer + at - from - 2] = nextHash(hash, at + 1 < to ? words.charCodeAt(at + 1) : SPACE) || 1
      ;[first, second, third] = [second, third, fourth]
    }
    count = longer + to - from - 2
  }
  return hashes.subarray(0, count)
}

function isUnspaced(words: string, from: number, to: number): boolean {
  return words.charCodeAt(from) >= UNSPACED_FROM && hasUnspaced(words.slice(from, to))
}

/** Kept, because a new array for each passage costs as much as the hashes. */
let hashes = new Int32Array(0)

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
