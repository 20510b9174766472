import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { indexWords } from '#core/index/analysis/index-words.ts'
import { ngramHashes, type NgramBeginnings } from '#core/index/analysis/ngrams.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { openFileBytes } from '#core/index/storage/file-bytes.ts'
import { passageOffsetsBytes } from '#core/index/passages/layout.ts'
import { wholeFile, type ResidentParts } from '#core/index/storage/resident-parts.ts'
import { decodedFrequency, ngramSlot, ngramsSchema, type NgramsDescription } from './layout.ts'

/** The n-grams of a version; see `layout.ts`. */
export type NgramsReader = ReturnType<typeof openNgrams>

/** @param folder of a verified artifact. */
export function readNgramsDescription(folder: string): NgramsDescription {
  return ngramsSchema.parse(JSON.parse(readFileSync(join(folder, 'grams.json'), 'utf8')))
}

/**
 * @param passage read for its n-grams where the artifact lacks its words.
 * @throws Error if a file's size contradicts the description, or the description has another number of rows.
 */
export function openNgrams(folder: string, rows: number, passage: PassageText, parts: ResidentParts) {
  const { bits, chance: background, rows: described, words_bytes } = readNgramsDescription(folder)
  if (described !== rows) throw new Error('the n-grams contradict the manifest')
  const words = words_bytes === undefined ? undefined : openRowWords(folder, rows, words_bytes, parts)
  return {
    rows,
    background,
    /** Rows with an n-gram, about. */
    frequency: ngramFrequencies(parts.read(wholeFile(join(folder, 'grams.frequencies'), 2 ** bits)), bits),
    /** N-grams of a row's passage, with repetitions; see `ngramHashes`. */
    ofRow: (row: number, among?: NgramBeginnings): Int32Array =>
      ngramHashes(words?.ofRow(row) ?? ngramWords(textOf(passage(row))), among),
    close: () => words?.close(),
  }
}

type PassageText = (row: number) => Pick<PassageRecord, 'heading' | 'text'>

/** The text that a passage's n-grams are of. */
export function textOf({ heading, text }: ReturnType<PassageText>): string {
  return `${heading}\n${text}`
}

/** Its words, with spaces between. */
export function ngramWords(text: string): string {
  return indexWords(text).join(' ')
}

function openRowWords(folder: string, rows: number, bytes: number, parts: ResidentParts) {
  const offsets = new Float64Array(parts.read(wholeFile(join(folder, 'grams.offsets'), passageOffsetsBytes(rows))))
  const file = openFileBytes(join(folder, 'grams.words'), bytes, parts)
  return {
    ofRow(row: number): string {
      const from = offsets[row] ?? 0
      return file.passing(from, (offsets[row + 1] ?? 0) - from).toString('utf8')
    },
    close: () => file.close(),
  }
}

/** @param table of 2^bits bytes. */
export function ngramFrequencies(table: ArrayBufferLike, bits: number): (hash: number) => number {
  const bytes = new Uint8Array(table)
  return (hash) => decodedFrequency(bytes[ngramSlot(hash, bits)] ?? 0)
}
