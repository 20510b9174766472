import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { wholeFile, type ResidentParts } from '#core/index/storage/resident-parts.ts'
import { decodedFrequency, ngramSlot, ngramsSchema, type NgramsDescription } from './layout.ts'

/** The n-grams of a version; see `layout.ts`. */
export type NgramsReader = ReturnType<typeof readNgrams>

/** @param folder of a verified artifact. */
export function readNgramsDescription(folder: string): NgramsDescription {
  return ngramsSchema.parse(JSON.parse(readFileSync(join(folder, 'grams.json'), 'utf8')))
}

/** @throws Error if a file's size contradicts the description, or the description has another number of rows. */
export function readNgrams(folder: string, rows: number, parts: ResidentParts) {
  const { bits, chance: background, rows: described } = readNgramsDescription(folder)
  if (described !== rows) throw new Error('the n-grams contradict the manifest')
  return {
    rows,
    background,
    /** Rows with an n-gram, about. */
    frequency: ngramFrequencies(parts.read(wholeFile(join(folder, 'grams.frequencies'), 2 ** bits)), bits),
  }
}

/** @param table of 2^bits bytes. */
export function ngramFrequencies(table: ArrayBufferLike, bits: number): (hash: number) => number {
  const bytes = new Uint8Array(table)
  return (hash) => decodedFrequency(bytes[ngramSlot(hash, bits)] ?? 0)
}
