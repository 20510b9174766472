import { join } from 'node:path'
import { openLexicalReader, type LexicalReader } from '#core/index/lexical/reader.ts'
import { wholeFile, type ResidentParts } from '#core/index/storage/resident-parts.ts'
import { QUERY_EXPANSIONS } from './layout.ts'

/** One thread's view of a version's query expansions. */
export interface QueryExpansionsReader {
  /** Its rows are the questions. */
  readonly lexical: LexicalReader
  /** The row of each question's passage, ascending. */
  readonly rows: Uint32Array
  close(): void
}

/** @param folder of a verified artifact. @throws Error if a file's size contradicts the number of questions. */
export function openQueryExpansions(folder: string, questions: number, parts: ResidentParts): QueryExpansionsReader {
  const lexical = openLexicalReader(folder, questions, parts, QUERY_EXPANSIONS)
  const path = join(folder, `${QUERY_EXPANSIONS}.rows`)
  return {
    lexical,
    rows: new Uint32Array(parts.read(wholeFile(path, questions * 4))),
    close: () => lexical.close(),
  }
}
