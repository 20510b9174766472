import { closeSync } from 'node:fs'
import { join } from 'node:path'
import type { FileDigest } from '#core/platform/hashed-file.ts'
import { openLines, verifiedLines } from '#core/index/storage/verified-lines.ts'
import { sourceSchema, type Source } from './sources.ts'

const NAME = 'sources.jsonl'

/**
 * Streams the sources of a version.
 * @param expected digest of `sources.jsonl` that the signed manifest states.
 * @throws ArtifactError at the end, if what was read is not what the manifest states.
 */
export async function* sourcesIn(folder: string, expected: FileDigest): AsyncGenerator<Source> {
  const file = openLines(join(folder, NAME), NAME)
  try {
    for await (const { line } of verifiedLines(file, expected, NAME))
      yield sourceSchema.parse(JSON.parse(line.toString('utf8')))
  } finally {
    closeSync(file)
  }
}
