import { join } from 'node:path'
import { openLexicalReader } from '#core/index/lexical/reader.ts'
import { wholeFile, type ResidentParts } from '#core/index/storage/resident-parts.ts'
import { QUERY_EXPANSIONS, queryExpansionSchema, type QueryExpansion } from './layout.ts'
import { closeSync } from 'node:fs'
import { ArtifactError } from '#core/index/artifact-error.ts'
import { openLines, verifiedLines } from '#core/index/storage/verified-lines.ts'
import type { FileDigest } from '#core/platform/hashed-file.ts'
import { parsedJson } from '#core/platform/json.ts'

/** One thread's view of a version's query expansions. */
export type QueryExpansionsReader = ReturnType<typeof openQueryExpansions>

/** @param folder of a verified artifact. @throws Error if a file's size contradicts the number of questions. */
export function openQueryExpansions(folder: string, questions: number, parts: ResidentParts) {
  const lexical = openLexicalReader(folder, questions, parts, QUERY_EXPANSIONS)
  const path = join(folder, `${QUERY_EXPANSIONS}.rows`)
  return {
    /** Its rows are the questions. */
    lexical,
    /** The row of each question's passage, ascending. */
    rows: new Uint32Array(parts.read(wholeFile(path, questions * 4))),
    close: () => lexical.close(),
  }
}

const NAME = 'search-questions.jsonl'

/**
 * Streams every query expansion of an artifact in its order, and verifies the bytes that it parsed.
 * @param expected digest that the signed manifest states; undefined: the version has none.
 * @throws ArtifactError at the end, if what was read is something else.
 */
export async function* verifiedQueryExpansionsIn(
  artifactFolder: string,
  expected: FileDigest | undefined,
): AsyncGenerator<QueryExpansion> {
  if (expected === undefined) return
  using opened = new DisposableStack()
  const file = opened.adopt(openLines(join(artifactFolder, NAME), NAME), closeSync)
  for await (const { line } of verifiedLines(file, expected, NAME)) {
    const question = queryExpansionSchema.safeParse(parsedJson(line.toString('utf8')))
    if (!question.success) throw new ArtifactError(`${NAME} holds a line that is no search question.`)
    yield question.data
  }
}
