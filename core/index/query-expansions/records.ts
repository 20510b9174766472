import { closeSync } from 'node:fs'
import { join } from 'node:path'
import { ArtifactError } from '#core/index/artifact-error.ts'
import { openLines, verifiedLines } from '#core/index/storage/verified-lines.ts'
import type { FileDigest } from '#core/platform/hashed-file.ts'
import { parsedJson } from '#core/platform/json.ts'
import { queryExpansionSchema, type QueryExpansion } from './layout.ts'

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
  const file = openLines(join(artifactFolder, NAME), NAME)
  try {
    for await (const { line } of verifiedLines(file, expected, NAME)) {
      const question = queryExpansionSchema.safeParse(parsedJson(line.toString('utf8')))
      if (!question.success) throw new ArtifactError(`${NAME} holds a line that is no search question.`)
      yield question.data
    }
  } finally {
    closeSync(file)
  }
}
