import { closeSync } from 'node:fs'
import { join } from 'node:path'
import { ArtifactError } from '#core/index/artifact-error.ts'
import { openLines, verifiedLines } from '#core/index/storage/verified-lines.ts'
import type { FileDigest } from '#core/platform/hashed-file.ts'
import { parsedJson } from '#core/platform/json.ts'
import { searchQuestionSchema } from './layout.ts'
import type { SearchQuestion } from './layout.ts'

const NAME = 'search-questions.jsonl'

/**
 * Streams every search question of an artifact in its order, and verifies the bytes that it parsed.
 * @param expected digest that the signed manifest states; undefined: the version has none.
 * @throws ArtifactError at the end, if what was read is something else.
 */
export async function* verifiedSearchQuestionsIn(
  artifactFolder: string,
  expected: FileDigest | undefined,
): AsyncGenerator<SearchQuestion> {
  if (expected === undefined) return
  const file = openLines(join(artifactFolder, NAME), NAME)
  try {
    for await (const { line } of verifiedLines(file, expected, NAME)) {
      const question = searchQuestionSchema.safeParse(parsedJson(line.toString('utf8')))
      if (!question.success) throw new ArtifactError(`${NAME} holds a line that is no search question.`)
      yield question.data
    }
  } finally {
    closeSync(file)
  }
}
