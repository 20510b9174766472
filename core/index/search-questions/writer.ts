import { join } from 'node:path'
import { createAnalyzer } from '#core/index/analysis/analyzer.ts'
import { createLexicalWriter } from '#core/index/lexical/writer.ts'
import { canonicalJson } from '#core/platform/digest.ts'
import { writeHashed } from '#core/platform/hashed-file.ts'
import type { FileDigest } from '#core/platform/hashed-file.ts'
import { SEARCH_QUESTIONS, searchQuestionSchema } from './layout.ts'
import type { SEARCH_QUESTION_FILES, SearchQuestion } from './layout.ts'

/** A search question of the passage in a row. */
export interface PlacedQuestion extends SearchQuestion {
  readonly row: number
}

/** Writes the files of a version's search questions. @param questions at least one, rows ascending. */
export async function writeSearchQuestions(
  folder: string,
  questions: readonly PlacedQuestion[],
): Promise<Readonly<Record<(typeof SEARCH_QUESTION_FILES)[number], FileDigest>>> {
  const analyze = createAnalyzer()
  const lexical = createLexicalWriter(questions.length)
  const rows = Buffer.alloc(questions.length * 4)
  for (const [at, { row, lang, q }] of questions.entries()) {
    lexical.add(at, { language: lang, heading: [], text: analyze(q, lang) })
    rows.writeUInt32LE(row, at * 4)
  }
  const words = lexical.finish()
  const path = (ending: string): string => join(folder, `${SEARCH_QUESTIONS}.${ending}`)
  return {
    'search-questions.jsonl': await writeHashed(path('jsonl'), linesOf(questions)),
    'search-questions.rows': await writeHashed(path('rows'), [rows]),
    'search-questions.json': await writeHashed(path('json'), [Buffer.from(canonicalJson(words.description))]),
    'search-questions.terms': await writeHashed(path('terms'), [words.terms]),
    'search-questions.postings': await writeHashed(path('postings'), words.postings),
  }
}

function* linesOf(questions: readonly PlacedQuestion[]): Generator<Buffer> {
  for (const { id, lang, q } of questions)
    yield Buffer.from(`${JSON.stringify(searchQuestionSchema.parse({ id, lang, q }))}\n`)
}
