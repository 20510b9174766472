import { join } from 'node:path'
import { createAnalyzer } from '#core/index/analysis/analyzer.ts'
import { createLexicalWriter } from '#core/index/lexical/writer.ts'
import { canonicalJson } from '#core/platform/digest.ts'
import { writeHashed, type FileDigest } from '#core/platform/hashed-file.ts'
import { QUERY_EXPANSIONS, queryExpansionSchema, type QUERY_EXPANSION_FILES, type QueryExpansion } from './layout.ts'

export interface PlacedExpansion extends QueryExpansion {
  readonly row: number
}

/** Writes the files of a version's query expansions. @param questions at least one, rows ascending. */
export async function writeQueryExpansions(
  folder: string,
  questions: readonly PlacedExpansion[],
): Promise<Readonly<Record<(typeof QUERY_EXPANSION_FILES)[number], FileDigest>>> {
  const analyze = createAnalyzer()
  const lexical = createLexicalWriter(questions.length)
  const rows = Buffer.alloc(questions.length * 4)
  for (const [at, { row, lang, q }] of questions.entries()) {
    lexical.add(at, { language: lang, heading: [], text: analyze(q, lang) })
    rows.writeUInt32LE(row, at * 4)
  }
  const words = lexical.finish()
  const path = (ending: string): string => join(folder, `${QUERY_EXPANSIONS}.${ending}`)
  return {
    'search-questions.jsonl': await writeHashed(path('jsonl'), linesOf(questions)),
    'search-questions.rows': await writeHashed(path('rows'), [rows]),
    'search-questions.json': await writeHashed(path('json'), [Buffer.from(canonicalJson(words.description))]),
    'search-questions.terms': await writeHashed(path('terms'), [words.terms]),
    'search-questions.postings': await writeHashed(path('postings'), words.postings),
  }
}

function* linesOf(questions: readonly PlacedExpansion[]): Generator<Buffer> {
  for (const { id, lang, q } of questions)
    yield Buffer.from(`${JSON.stringify(queryExpansionSchema.parse({ id, lang, q }))}\n`)
}
