import { closeSync } from 'node:fs'
import { copyWithin } from '#core/platform/bitset.ts'
import { openSized, readFully } from '#core/platform/file-reader.ts'
import { createQueryCoder, decodeHeader } from './codes.ts'
import type { CodeSpace } from './codes.ts'
import { createScan } from './codes-scan.ts'
import type { CodesScan, PieceLoader } from './codes-scan.ts'
import { createKernel } from './kernel.ts'
import type { Kernel } from './kernel.ts'
import { codesLayout } from './layout.ts'

/** One thread's view of the codes of a version. */
export interface CodesReader {
  /**
   * Begins a scan, which ends the one before.
   * @param query unit length. @param kept nearest rows that are kept; there may be fewer.
   * @param wanted nearest rows whose last one is the threshold of the scan.
   */
  scan(query: Float32Array, kept: number, wanted: number): CodesScan
  close(): void
}

/** Where the bytes of `vectors.i4` come from: its file, or a copy in memory that all threads share. */
export type CodesSource = { readonly path: string } | { readonly bytes: SharedArrayBuffer }

/** Largest gap that is read to save a system call. One call costs about as much as copying this many bytes. */
const GAP_BYTES = 8_192

export function openCodes(source: CodesSource, rows: number, dimensions: number): CodesReader {
  const { rowBytes, codesOffset, bytes } = codesLayout(rows, dimensions)
  const { read, close } = openSource(source, bytes)
  const codeQuery = createQueryCoder(readSpace())
  const kernel = createKernel(rowBytes)
  const load = createLoader(kernel, rowBytes, (into, row) => read(into, codesOffset + row * rowBytes))
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
    scan: (query, kept, wanted) => createScan(kernel, load, codeQuery(query), kept, wanted),
    close,
  }
}

/** @param read fills a buffer with codes from a row on. */
function createLoader(kernel: Kernel, rowBytes: number, read: (into: Uint8Array, row: number) => void): PieceLoader {
  const gapWords = Math.max(1, Math.floor(GAP_BYTES / rowBytes / 32))
  const all = new Uint32Array(kernel.rowsMax / 32).fill(0xffff_ffff)
  return ({ first, from, to }, bits) => {
    const words = Math.ceil((to - first) / 32)
    kernel.bits.fill(0, 0, words)
    copyWithin(bits?.subarray(first / 32) ?? all, kernel.bits, from - first, to - first)
    forEachRun(kernel.bits.subarray(0, words), gapWords, (firstWord, endWord) => {
      const [begin, end] = [Math.max(from - first, firstWord * 32), Math.min(to - first, endWord * 32)]
      read(kernel.codes.subarray(begin * rowBytes, end * rowBytes), first + begin)
    })
    return words
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
