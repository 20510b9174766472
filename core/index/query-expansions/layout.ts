import { z } from 'zod'

/**
 * Query expansions (doc2query; operators call them search questions): what people may ask in their own words of a
 * passage, written when the version was built. They find passages. No reply shows one, and none is evidence.
 *
 * - `search-questions.jsonl`: one `QueryExpansion` a line, in order of the rows of their passages.
 * - `search-questions.rows`: for each question the row of its passage, uint32, little-endian, ascending.
 * - `search-questions.json`, `search-questions.terms` and `search-questions.postings`: a lexical index whose rows are
 *   the questions; see `core/index/lexical/layout.ts`.
 *
 * A version without query expansions has none of the files.
 */
export const QUERY_EXPANSION_FILES = [
  'search-questions.jsonl',
  'search-questions.rows',
  'search-questions.json',
  'search-questions.terms',
  'search-questions.postings',
] as const

/** Name of the lexical index of the questions. */
export const QUERY_EXPANSIONS = 'search-questions'

export const queryExpansionSchema = z.strictObject({
  /** The passage's `source_id`; the parts of a record share its questions. */
  id: z.string().min(1),
  /** BCP 47. */
  lang: z.string().min(1),
  q: z.string().min(1),
})
export type QueryExpansion = z.infer<typeof queryExpansionSchema>

/** Returns the first fault of `search-questions.rows` as one sentence, or undefined if there is none. */
export function queryExpansionRowsFault(bytes: Buffer, questions: number, passages: number): string | undefined {
  if (bytes.length !== questions * 4) return 'search-questions.rows does not hold one row a question.'
  let previous = 0
  for (let at = 0; at < bytes.length; at += 4) {
    const row = bytes.readUInt32LE(at)
    if (row < previous || row >= passages) return 'search-questions.rows does not hold the rows of passages in order.'
    previous = row
  }
  return undefined
}
