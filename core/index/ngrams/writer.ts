import { join } from 'node:path'
import { ngramHashes } from '#core/index/analysis/ngrams.ts'
import { indexWords } from '#core/index/analysis/index-words.ts'
import { NGRAM_BITS_MAX, NGRAM_BITS_MIN, encodedFrequency, ngramSlot, type NgramsDescription } from './layout.ts'
import { measureBackgroundModel } from './background-model.ts'
import { ngramFrequencies } from './reader.ts'
import { openForwardReader } from '#core/index/lexical/forward-reader.ts'
import { openLexicalReader } from '#core/index/lexical/reader.ts'
import { openPassagesReader } from '#core/index/passages/reader.ts'
import { readRowTable } from '#core/index/passages/row-table.ts'
import { createResidentParts } from '#core/index/storage/resident-parts.ts'
import { canonicalJson } from '#core/platform/digest.ts'
import { writeHashed, type FileDigest } from '#core/platform/hashed-file.ts'

/** A passage has about thirty n-grams that few others have. */
const SLOTS_PER_ROW = 32

/** Counts the rows of each n-gram and returns `grams.frequencies`. */
export type NgramsWriter = ReturnType<typeof createNgramsWriter>

/** @param rows number of rows to be added. */
export function createNgramsWriter(rows: number) {
  const bits = Math.min(NGRAM_BITS_MAX, Math.max(NGRAM_BITS_MIN, Math.ceil(Math.log2(rows * SLOTS_PER_ROW))))
  const counts = new Uint32Array(2 ** bits)
  /** The last row, from 1, that each slot was counted for. */
  const last = new Uint32Array(2 ** bits)
  let row = 0
  return {
    /** Counts the next row. */
    add(heading: string, text: string) {
      row += 1
      for (const hash of ngramHashes(indexWords(`${heading}\n${text}`))) {
        const slot = ngramSlot(hash, bits)
        if (last[slot] === row) continue
        last[slot] = row
        counts[slot] = (counts[slot] ?? 0) + 1
      }
    },
    finish: (): { readonly bits: number; readonly frequencies: Uint8Array } => ({
      bits,
      frequencies: Uint8Array.from(counts, encodedFrequency),
    }),
  }
}

/**
 * Writes the files of the n-grams, whose background model is measured on the files of passages and words that are in
 * the folder.
 * @param passageDigests SHA-256 of `passages.sha256`, lower-case hex.
 */
export async function writeNgrams(
  folder: string,
  passages: number,
  ngrams: NgramsWriter,
  passageDigests: string,
): Promise<Readonly<Record<'grams.json' | 'grams.frequencies', FileDigest>>> {
  const { bits, frequencies } = ngrams.finish()
  const parts = createResidentParts()
  using open = new DisposableStack()
  const held = <Reader extends { close(): void }>(reader: Reader): Reader => open.adopt(reader, (each) => each.close())
  const records = held(openPassagesReader(folder, passages, passageDigests, parts))
  const background = measureBackgroundModel({
    passages,
    passage: (row) => records.passage(row),
    rows: readRowTable(folder, passages, parts),
    lexical: held(openLexicalReader(folder, passages, parts)),
    forward: held(openForwardReader(folder, passages, parts)),
    ngrams: { rows: passages, frequency: ngramFrequencies(frequencies.buffer, bits) },
  })
  const description: NgramsDescription = { rows: passages, bits, chance: background }
  return {
    'grams.frequencies': await writeHashed(join(folder, 'grams.frequencies'), [frequencies]),
    'grams.json': await writeHashed(join(folder, 'grams.json'), [Buffer.from(canonicalJson(description))]),
  }
}
