import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { wholeFile } from '#core/index/storage/resident-parts.ts'
import type { ResidentParts } from '#core/index/storage/resident-parts.ts'
import { decodedFrequency, gramSlot, gramsSchema } from './layout.ts'
import type { BackgroundModel, GramsDescription } from './layout.ts'

/** The grams of a version; see `layout.ts`. */
export interface GramsReader {
  readonly rows: number
  readonly background: BackgroundModel
  /** Rows with a gram, about. */
  frequency(hash: number): number
}

/** @param folder of a verified artifact. */
export function readGramsDescription(folder: string): GramsDescription {
  return gramsSchema.parse(JSON.parse(readFileSync(join(folder, 'grams.json'), 'utf8')))
}

/** @throws Error if a file's size contradicts the description, or the description has another number of rows. */
export function readGrams(folder: string, rows: number, parts: ResidentParts): GramsReader {
  const { bits, chance: background, rows: described } = readGramsDescription(folder)
  if (described !== rows) throw new Error('the grams contradict the manifest')
  return {
    rows,
    background,
    frequency: gramFrequencies(parts.read(wholeFile(join(folder, 'grams.frequencies'), 2 ** bits)), bits),
  }
}

/** @param table of 2^bits bytes. */
export function gramFrequencies(table: ArrayBufferLike, bits: number): GramsReader['frequency'] {
  const bytes = new Uint8Array(table)
  return (hash) => decodedFrequency(bytes[gramSlot(hash, bits)] ?? 0)
}
