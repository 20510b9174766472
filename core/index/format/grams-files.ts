import { join } from 'node:path'
import { measureChance } from '#core/index/grams/chance.ts'
import type { GramsDescription } from '#core/index/grams/layout.ts'
import { gramFrequencies } from '#core/index/grams/reader.ts'
import type { GramsWriter } from '#core/index/grams/writer.ts'
import { openForwardReader } from '#core/index/lexical/forward-reader.ts'
import { openLexicalReader } from '#core/index/lexical/reader.ts'
import { openPassagesReader } from '#core/index/passages/reader.ts'
import { readRowTable } from '#core/index/passages/row-table.ts'
import { createResidentParts } from '#core/index/storage/resident-parts.ts'
import { canonicalJson } from '#core/platform/digest.ts'
import { writeHashed } from '#core/platform/hashed-file.ts'
import type { FileDigest } from '#core/platform/hashed-file.ts'

/**
 * Writes the files of the grams, whose chance is measured on the files of passages and words that are in the folder.
 * @param passageDigests SHA-256 of `passages.sha256`, lower-case hex.
 */
export async function writeGrams(
  folder: string,
  passages: number,
  grams: GramsWriter,
  passageDigests: string,
): Promise<Readonly<Record<'grams.json' | 'grams.frequencies', FileDigest>>> {
  const { bits, frequencies } = grams.finish()
  const parts = createResidentParts()
  using open = new DisposableStack()
  const held = <Reader extends { close(): void }>(reader: Reader): Reader => open.adopt(reader, (each) => each.close())
  const records = held(openPassagesReader(folder, passages, passageDigests, parts))
  const chance = measureChance({
    passages,
    passage: (row) => records.passage(row),
    rows: readRowTable(folder, passages, parts),
    lexical: held(openLexicalReader(folder, passages, parts)),
    forward: held(openForwardReader(folder, passages, parts)),
    grams: { rows: passages, frequency: gramFrequencies(frequencies.buffer, bits) },
  })
  const description: GramsDescription = { rows: passages, bits, chance }
  return {
    'grams.frequencies': await writeHashed(join(folder, 'grams.frequencies'), [frequencies]),
    'grams.json': await writeHashed(join(folder, 'grams.json'), [Buffer.from(canonicalJson(description))]),
  }
}
