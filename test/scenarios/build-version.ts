import { evaluationMapping } from '#operator/evaluate/data-set-mapping.ts'
import { withTemporaryVersion } from '#operator/evaluate/temporary-version.ts'
import { WORD_EMBEDDER } from '#test/support/word-vectors.ts'

/**
 * Imports and builds a corpus in this process and writes the manifest of what it built: `build-version.ts
 * <corpus.jsonl> <folder for temporary files>`.
 */
const [corpus = '', dataDir = ''] = process.argv.slice(2)

const version = {
  corpus,
  mapping: evaluationMapping({ limit: undefined, dated: false }),
  embedder: WORD_EMBEDDER,
  relevant: new Set<string>(),
  dataDir,
  signal: new AbortController().signal,
  onProgress: () => undefined,
}
const manifest = await withTemporaryVersion(version, ({ artifact }) => Promise.resolve(artifact.manifest))
process.stdout.write(JSON.stringify(manifest))
