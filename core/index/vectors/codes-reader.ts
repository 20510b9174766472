import { closeSync } from 'node:fs'
import { openSized, readFully } from '#core/platform/file-reader.ts'
import { createTopK } from '#core/platform/top-k.ts'
import { createQueryCoder, decodeHeader } from './codes.ts'
import type { CodeSpace } from './codes.ts'
import { createKernel } from './kernel.ts'
import type { Kernel } from './kernel.ts'
import { codesLayout } from './layout.ts'

/** Rows that a scan may return. */
export interface ScannedRows {
  /** Bit row % 32 of word row / 32. */
  readonly bits: Uint32Array
}

/** One thread's view of the codes of a version. */
export interface CodesReader {
  /**
   * Scores every row of a set.
   * @param query unit length.
   * @param count nearest rows wanted; there may be fewer.
   * @returns ascending rows: those that may be among the `count` nearest, at most CANDIDATES_MAX of them or `count`.
   */
  nearest(query: Float32Array, rows: ScannedRows, count: number): Uint32Array
  close(): void
}

/** Where the bytes of `vectors.i4` come from: its file, or a copy in memory that all threads share. */
export type CodesSource = { readonly path: string } | { readonly bytes: SharedArrayBuffer }

/**
 * A row may be among the nearest if its score is less than this number of standard deviations of the error of a
 * difference below the last wanted one.
 */
const ERROR_DEVIATIONS = 3 * Math.SQRT2
/** Rows at nearly equal distances, as a filter may leave them, are all candidates up to this number. */
const CANDIDATES_MAX = 524_288
/** Largest gap that is read to save a system call. One call costs about as much as copying this many bytes. */
const GAP_BYTES = 8_192

export function openCodes(source: CodesSource, rows: number, dimensions: number): CodesReader {
  const { rowBytes, codesOffset, bytes } = codesLayout(rows, dimensions)
  const { read, close } = openSource(source, bytes)
  const codeQuery = createQueryCoder(readSpace())
  const kernel = createKernel(rowBytes)
  const pieceWords = kernel.rowsMax / 32
  const gapWords = Math.max(1, Math.floor(GAP_BYTES / rowBytes / 32))
  const readWords = (firstWord: number, from: number, to: number): void => {
    const firstRow = (firstWord + from) * 32
    const endRow = Math.min(rows, (firstWord + to) * 32)
    const at = from * 32 * rowBytes
    read(kernel.codes.subarray(at, at + (endRow - firstRow) * rowBytes), codesOffset + firstRow * rowBytes)
  }
  function readSpace(): CodeSpace {
    const header = new Uint8Array(codesOffset)
    read(header, 0)
    try {
      return decodeHeader(header, dimensions)
    } catch (error) {
      close()
      throw error
    }
  }
  return {
    nearest(query, { bits }, count) {
      const asked = codeQuery(query)
      const found = createCandidates(count, Math.ceil(asked.error * ERROR_DEVIATIONS))
      kernel.ask(asked.bytes)
      for (let word = 0; word < bits.length; word += pieceWords) {
        const words = bits.subarray(word, word + pieceWords)
        forEachRun(words, gapWords, (from, to) => readWords(word, from, to))
        kernel.bits.set(words)
        collect(kernel, words.length, word * 32, found)
      }
      return found.rows()
    },
    close,
  }
}

function openSource(
  source: CodesSource,
  bytes: number,
): { readonly read: (into: Uint8Array, at: number) => void; readonly close: () => void } {
  if ('bytes' in source) {
    const all = new Uint8Array(source.bytes)
    if (all.length !== bytes) throw new Error('the codes in memory do not have the length of their version')
    return { read: (into, at) => into.set(all.subarray(at, at + into.length)), close: () => {} }
  }
  const file = openSized(source.path, bytes)
  return { read: (into, at) => readFully(file, into, at), close: () => closeSync(file) }
}

/** Calls back for the runs of words that have a bit; gaps of at most `gap` words belong to a run. */
function forEachRun(words: Uint32Array, gap: number, run: (from: number, to: number) => void): void {
  let from = -1
  let to = -1
  for (let at = 0; at < words.length; at++) {
    if (words[at] === 0) continue
    if (from !== -1 && at - to > gap) {
      run(from, to)
      from = -1
    }
    if (from === -1) from = at
    to = at + 1
  }
  if (from !== -1) run(from, to)
}

interface Candidates {
  /** Rows at or below it are no candidates. */
  threshold(): number
  offer(row: number, score: number): void
  /** Ascending. */
  rows(): Uint32Array
}

/** Keeps the rows whose score is within `margin` of the `count`-th best. */
function createCandidates(count: number, margin: number): Candidates {
  const best = createTopK(count)
  const max = Math.max(count, CANDIDATES_MAX)
  let rows = new Uint32Array(4_096)
  let scores = new Int32Array(4_096)
  let size = 0
  /** Rows at or below it were dropped because there are too many. */
  let floor = -Infinity

  const least = (): number => best.threshold() - margin - 1
  /** Keeps the rows above a score, in order, and as many with this score as `room`. */
  function keep(score: number, room: number): void {
    let [kept, equal] = [0, 0]
    for (let at = 0; at < size; at++) {
      const own = scores[at] ?? 0
      if (own < score || (own === score && equal++ >= room)) continue
      rows[kept] = rows[at] ?? 0
      scores[kept] = own
      kept += 1
    }
    size = kept
  }
  function makeRoom(): void {
    keep(least(), 0)
    if (size > max) {
      const sorted = scores.slice(0, size).sort()
      floor = sorted[size - max] ?? floor
      keep(floor, max - (size - 1 - sorted.lastIndexOf(floor)))
    }
    if (size * 2 <= rows.length) return
    const [moreRows, moreScores] = [new Uint32Array(rows.length * 2), new Int32Array(rows.length * 2)]
    moreRows.set(rows)
    moreScores.set(scores)
    rows = moreRows
    scores = moreScores
  }
  return {
    threshold: () => Math.max(floor, least()),
    offer(row, score) {
      if (size === rows.length) makeRoom()
      rows[size] = row
      scores[size] = score
      size += 1
      if (score > best.threshold()) best.offer(row, score)
    },
    rows() {
      keep(least(), 0)
      return rows.slice(0, size)
    },
  }
}

/** A threshold below every score: a score is at least -127 × 15 for each of at most 4,128 components. */
const NONE = -(2 ** 30)

function collect(kernel: Kernel, words: number, firstRow: number, found: Candidates): void {
  const hits = kernel.scan(words, Math.max(NONE, found.threshold()))
  let threshold = found.threshold()
  for (let at = 0; at < hits * 2; at += 2) {
    const score = kernel.hits[at + 1] ?? 0
    if (score <= threshold) continue
    found.offer(firstRow + (kernel.hits[at] ?? 0), score)
    threshold = found.threshold()
  }
}
