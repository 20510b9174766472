import { closeSync } from 'node:fs'
import { copyWords } from '#core/index/bitset.ts'
import { openSized, readFully } from '#core/index/storage/file-reader.ts'
import { GAP_BYTES } from '#core/index/storage/read-spans.ts'
import { createSharedMemory, type SharedMemory } from '#core/index/storage/resident-parts.ts'
import { Sq4Scan, type PieceScorer, type ScanDepth } from './sq4-scan.ts'
import { createKernel, pieceRowsMax } from './kernel.ts'
import { sq4Layout, type Sq4Layout } from './layout.ts'
import { createQueryQuantizer, decodeHeader } from './quantizer.ts'

/** One thread's view of the SQ4 vectors of a version. */
export type Sq4Reader = ReturnType<typeof openSq4>

/** Where the bytes of `vectors.sq4` come from: its file, or a copy of it that all threads share. */
export type Sq4Source = { readonly path: string } | { readonly memory: SharedMemory }

/** SQ4 vectors where a kernel scores them. */
interface Sq4Vectors {
  readonly memory: SharedMemory
  readonly header: Uint8Array
  /**
   * Provides the SQ4 vectors of the rows that have a bit.
   * @param bits bit 0 stands for `first`. @returns where the SQ4 vector of row `first` begins in the memory.
   */
  load(first: number, end: number, bits: Uint32Array): number
  close(): void
}

/** @throws Error, with the file closed, if the source has not the length and the header of such SQ4 vectors. */
export function openSq4(source: Sq4Source, rows: number, dimensions: number) {
  const layout = sq4Layout(rows, dimensions)
  using opening = new DisposableStack()
  const held = 'memory' in source ? inMemory(source.memory, layout) : inPageCache(source.path, layout)
  const sq4 = opening.adopt(held, ({ close }) => close())
  const quantizeQuery = createQueryQuantizer(decodeHeader(sq4.header, dimensions))
  const scorer = createScorer(sq4, layout)
  opening.move()
  return {
    /** Begins a scan, which ends the one before. @param query unit length. */
    scan: (query: Float32Array, wanted: ScanDepth): Sq4Scan => new Sq4Scan(scorer, quantizeQuery(query), wanted),
    close: sq4.close,
  }
}

function createScorer(sq4: Sq4Vectors, layout: Sq4Layout): PieceScorer {
  const { rowsMax, bits, hits, setQuery, scan } = createKernel(layout, sq4.memory)
  return {
    rowsMax,
    hits,
    setQuery,
    score(from, to, threshold, among) {
      const words = copyWords(among, bits, from, to)
      return scan(sq4.load(from - (from % 32), to, bits), words, threshold)
    },
  }
}

function inMemory(memory: SharedMemory, { offset, rowBytes, bytes }: Sq4Layout): Sq4Vectors {
  if (memory.buffer.byteLength < bytes)
    throw new Error('the SQ4 vectors in memory are shorter than those of their version')
  return {
    memory,
    header: new Uint8Array(memory.buffer, 0, offset),
    load: (first) => offset + first * rowBytes,
    close: () => undefined,
  }
}

/** Copies what a piece needs; the memory has room for one. */
function inPageCache(path: string, { offset, rowBytes, bytes }: Sq4Layout): Sq4Vectors {
  const memory = createSharedMemory(pieceRowsMax(rowBytes) * rowBytes)
  const gapWords = Math.max(1, Math.floor(GAP_BYTES / rowBytes / 32))
  using opening = new DisposableStack()
  const file = opening.adopt(openSized(path, bytes), closeSync)
  const header = new Uint8Array(offset)
  readFully(file, header, 0)
  opening.move()
  return {
    memory,
    header,
    load(first, end, bits) {
      forEachRun(bits, Math.ceil((end - first) / 32), gapWords, (firstWord, endWord) => {
        const [begin, to] = [firstWord * 32, Math.min(end - first, endWord * 32)]
        const into = new Uint8Array(memory.buffer, begin * rowBytes, (to - begin) * rowBytes)
        readFully(file, into, offset + (first + begin) * rowBytes)
      })
      return 0
    },
    close: () => closeSync(file),
  }
}

/** Calls back for the runs of words that have a bit; gaps of at most `gap` words belong to a run. */
function forEachRun(bits: Uint32Array, words: number, gap: number, run: (from: number, to: number) => void): void {
  let from = -1
  let to = -1
  for (let at = 0; at < words; at++) {
    if (bits[at] === 0) continue
    if (from !== -1 && at - to > gap) {
      run(from, to)
      from = -1
    }
    if (from === -1) from = at
    to = at + 1
  }
  if (from !== -1) run(from, to)
}
