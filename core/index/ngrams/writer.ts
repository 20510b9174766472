import { join } from 'node:path'
import { MEMORY_TEXTS_MAX } from '#core/index/analysis/analyzer.ts'
import { ngramHashes } from '#core/index/analysis/ngrams.ts'
import { NGRAM_BITS_MAX, NGRAM_BITS_MIN, encodedFrequency, ngramSlot, type NgramsDescription } from './layout.ts'
import { measureBackgroundModel } from './background-model.ts'
import { ngramFrequencies, ngramWords, textOf } from './reader.ts'
import { openForwardReader } from '#core/index/lexical/forward-reader.ts'
import { openLexicalReader } from '#core/index/lexical/reader.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { openPassagesReader } from '#core/index/passages/reader.ts'
import { readRowTable } from '#core/index/passages/row-table.ts'
import { createResidentParts } from '#core/index/storage/resident-parts.ts'
import { canonicalJson } from '#core/platform/digest.ts'
import { memoized } from '#core/platform/memoized.ts'
import { writeHashed, type FileDigest } from '#core/platform/hashed-file.ts'

/** A passage has about thirty n-grams that few others have. */
const SLOTS_PER_ROW = 32

/** Counts the rows of each n-gram, and returns what the files of n-grams hold. */
export type NgramsWriter = ReturnType<typeof createNgramsWriter>

/** @param rows number of rows to be added. */
export function createNgramsWriter(rows: number) {
  const bits = Math.min(NGRAM_BITS_MAX, Math.max(NGRAM_BITS_MIN, Math.ceil(Math.log2(rows * SLOTS_PER_ROW))))
  const counts = new Uint32Array(2 ** bits)
  /** The last row, from 1, that each slot was counted for. */
  const last = new Uint32Array(2 ** bits)
  const offsets = new Float64Array(rows + 1)
  const wordsOf = memoized(ngramWords, MEMORY_TEXTS_MAX)
  let row = 0
  return {
    /** Counts the next row. @returns its bytes in `grams.words`. */
    add(passage: Pick<PassageRecord, 'heading' | 'text'>) {
      const words = wordsOf(textOf(passage))
      const bytes = Buffer.from(words)
      offsets[row + 1] = (offsets[row] ?? 0) + bytes.length
      row += 1
      for (const hash of ngramHashes(words)) {
        const slot = ngramSlot(hash, bits)
        if (last[slot] === row) continue
        last[slot] = row
        counts[slot] = (counts[slot] ?? 0) + 1
      }
      return bytes
    },
    finish: () => ({ bits, frequencies: Uint8Array.from(counts, encodedFrequency), offsets }),
  }
}

/**
 * Writes the other files of the n-grams, whose background model is measured on the files of passages and words that are
 * in the folder.
 */
export async function writeNgrams(
  folder: string,
  passages: number,
  ngrams: NgramsWriter,
  files: Readonly<Record<'passages.sha256' | 'grams.words', FileDigest>>,
): Promise<Readonly<Record<`grams.${'json' | 'frequencies' | 'offsets'}`, FileDigest>>> {
  const { bits, frequencies, offsets } = ngrams.finish()
  const parts = createResidentParts()
  using open = new DisposableStack()
  const held = <Reader extends { close(): void }>(reader: Reader): Reader => open.adopt(reader, (each) => each.close())
  const records = held(openPassagesReader(folder, passages, files['passages.sha256'].sha256, parts))
  const background = measureBackgroundModel({
    passages,
    passage: (row) => records.passage(row),
    rows: readRowTable(folder, passages, parts),
    lexical: held(openLexicalReader(folder, passages, parts)),
    forward: held(openForwardReader(folder, passages, parts)),
    ngrams: { rows: passages, frequency: ngramFrequencies(frequencies.buffer, bits) },
  })
  const description: NgramsDescription = {
    rows: passages,
    bits,
    words_bytes: files['grams.words'].bytes,
    chance: background,
  }
  return {
    'grams.offsets': await writeHashed(join(folder, 'grams.offsets'), [new Uint8Array(offsets.buffer)]),
    'grams.frequencies': await writeHashed(join(folder, 'grams.frequencies'), [frequencies]),
    'grams.json': await writeHashed(join(folder, 'grams.json'), [Buffer.from(canonicalJson(description))]),
  }
}
