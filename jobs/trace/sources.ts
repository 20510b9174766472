import { closeSync } from 'node:fs'
import { join } from 'node:path'
import type { Manifest } from '#core/index/format/manifest.ts'
import { sourceSchema } from '#core/index/passages/sources.ts'
import type { Source } from '#core/index/passages/sources.ts'
import { openLines, verifiedLines } from '#core/index/storage/verified-lines.ts'

const NAME = 'sources.jsonl'

/**
 * Streams the sources of a version.
 * @throws ArtifactError at the end, if what was read is not what the manifest states.
 */
export async function* sourcesIn(folder: string, { files }: Pick<Manifest, 'files'>): AsyncGenerator<Source> {
  const file = openLines(join(folder, NAME), NAME)
  try {
    for await (const { line } of verifiedLines(file, files[NAME], NAME))
      yield sourceSchema.parse(JSON.parse(line.toString('utf8')))
  } finally {
    closeSync(file)
  }
}
