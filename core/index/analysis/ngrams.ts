import { hasUnspaced } from './scripts.ts'

/** Length of the shorter n-grams in UTF-16 units, the spaces around the word included; others are longer by one. */
const NGRAM_UNITS = 4
const SPACE = 0x20
/** Scripts without spaces begin here, with Thai. */
const UNSPACED_FROM = 0x0e00

/** Which beginnings of n-grams count: 1 in the slot of their first three units. */
export type NgramBeginnings = Uint8Array

const BEGINNINGS = 4_096
const ALL_BEGINNINGS: NgramBeginnings = new Uint8Array(BEGINNINGS).fill(1)

/** @param words as `ngramHashes` takes them. @returns the beginnings of their n-grams, and hardly any others. */
export function ngramBeginnings(words: string): NgramBeginnings {
  const beginnings = new Uint8Array(BEGINNINGS)
  const spaced = ` ${words} `
  for (let at = 2; at < spaced.length; at++)
    beginnings[beginningSlot(spaced.charCodeAt(at - 2), spaced.charCodeAt(at - 1), spaced.charCodeAt(at))] = 1
  return beginnings
}

function beginningSlot(first: number, second: number, third: number): number {
  return (Math.imul(first, 961) + Math.imul(second, 31) + third) & (BEGINNINGS - 1)
}

/**
 * Returns a hash of each character n-gram of four or five letters of words, with repetitions. A word has a space on
 * each side, and one that is shorter gives itself. So do pairs of letters of a script without spaces. N-grams find a
 * word in its compounds and inflections without knowledge of the language (McNamee & Mayfield 2004). No hash is 0, which
 * hash tables use for a free slot. The hashes are valid until the next call.
 * @param words folded, as `indexWords` gives them, with one space between two: reading them one by one costs more.
 * @param among n-grams with other beginnings are left out: who looks for those of a question needs a tenth of them.
 */
export function ngramHashes(words: string, among: NgramBeginnings = ALL_BEGINNINGS): Int32Array {
  if (hashes.length < 2 * words.length + 1) hashes = new Int32Array(4 * words.length + 1)
  let count = 0
  for (let from = 0, to = 0; from < words.length; from = to + 1) {
    to = words.indexOf(' ', from)
    if (to === -1) to = words.length
    // The last units are kept: reading each of them once takes half of the time.
    let [first, second, third] = [SPACE, words.charCodeAt(from), from + 1 < to ? words.charCodeAt(from + 1) : SPACE]
    if (to - from + 2 <= NGRAM_UNITS || isUnspaced(words, from, to)) {
      if (among[beginningSlot(first, second, third)] === 1)
        hashes[count++] = nextHash(fnv1a(words, nextHash(OFFSET_BASIS, SPACE), from, to), SPACE) || 1
      continue
    }
    // Those of five letters follow the others of the word: sums over n-grams are rounded in this order.
    const longer = count + to - from - 1
    let end = longer
    for (let at = from + 2; at <= to; at++) {
      const fourth = at < to ? words.charCodeAt(at) : SPACE
      if (among[beginningSlot(first, second, third)] === 1) {
        const hash = nextHash(nextHash(nextHash(nextHash(OFFSET_BASIS, first), second), third), fourth)
        hashes[count++] = hash || 1
        if (at < to) hashes[end++] = nextHash(hash, at + 1 < to ? words.charCodeAt(at + 1) : SPACE) || 1
      }
      ;[first, second, third] = [second, third, fourth]
    }
    hashes.copyWithin(count, longer, end)
    count += end - longer
  }
  return hashes.subarray(0, count)
}

function isUnspaced(words: string, from: number, to: number): boolean {
  return words.charCodeAt(from) >= UNSPACED_FROM && hasUnspaced(words.slice(from, to))
}

/** Kept, because a new array for each passage costs as much as the hashes. */
let hashes = new Int32Array(0)

/** Overwrites what is kept: hashes of short n-grams tell the question whose they are. */
export function forgetNgrams(): void {
  hashes.fill(0)
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
