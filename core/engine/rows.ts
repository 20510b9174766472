import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openForwardReader } from '#core/index/lexical/forward-reader.ts'
import { impactsOf } from '#core/index/lexical/impact.ts'
import { lexicalSchema } from '#core/index/lexical/layout.ts'
import { PASSAGE_DIGEST_BYTES } from '#core/index/passages/layout.ts'
import { passagesIn } from '#core/index/passages/records.ts'
import { readRowTable } from '#core/index/passages/row-table.ts'
import { createResidentParts } from '#core/index/storage/resident-parts.ts'
import { openRowFile } from '#core/index/vectors/row-file.ts'
import type { UnsignedArtifact } from '#core/index/engine/description.ts'
import type { EngineRow } from './documents.ts'

/** Reads what an index holds of every row from the files of an artifact, in row order. */
export async function* engineRows({ folder, passages, dimensions }: UnsignedArtifact): AsyncGenerator<EngineRow> {
  const parts = createResidentParts()
  const lexical = lexicalSchema.parse(JSON.parse(await readFile(join(folder, 'lexical.json'), 'utf8')))
  const digests = await readFile(join(folder, 'passages.sha256'))
  const { chunkRanks } = readRowTable(folder, passages, parts)
  using opened = new DisposableStack()
  const forward = opened.adopt(openForwardReader(folder, passages, parts), (reader) => reader.close())
  const vectors =
    dimensions === undefined
      ? undefined
      : opened.adopt(openRowFile(join(folder, 'vectors.f32'), dimensions), (file) => file.close())
  let row = 0
  for await (const record of passagesIn(join(folder, 'passages.jsonl'))) {
    const tokens = forward.read(row, row)
    const headingTerms = tokens.textStart(row) - tokens.start(row)
    yield {
      row,
      record,
      digest: digests.toString('hex', row * PASSAGE_DIGEST_BYTES, (row + 1) * PASSAGE_DIGEST_BYTES),
      rank: chunkRanks[row] ?? 0,
      impacts: impactsOf(tokens.words(row), headingTerms, lexical),
      vector: vectors?.read(row),
    }
    row += 1
  }
}
