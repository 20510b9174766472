import { join } from 'node:path'
import { openLexicalReader } from '#core/index/lexical/reader.ts'
import type { LexicalReader } from '#core/index/lexical/reader.ts'
import { wholeFile } from '#core/index/storage/resident-parts.ts'
import type { ResidentParts } from '#core/index/storage/resident-parts.ts'
import { SEARCH_QUESTIONS } from './layout.ts'

/** One thread's view of a version's search questions. */
export interface SearchQuestionsReader {
  /** Its rows are the questions. */
  readonly lexical: LexicalReader
  /** The row of each question's passage, ascending. */
  readonly rows: Uint32Array
  close(): void
}

/** @param folder of a verified artifact. @throws Error if a file's size contradicts the number of questions. */
export function openSearchQuestions(folder: string, questions: number, parts: ResidentParts): SearchQuestionsReader {
  const lexical = openLexicalReader(folder, questions, parts, SEARCH_QUESTIONS)
  const path = join(folder, `${SEARCH_QUESTIONS}.rows`)
  return {
    lexical,
    rows: new Uint32Array(parts.read(wholeFile(path, questions * 4))),
    close: () => lexical.close(),
  }
}
