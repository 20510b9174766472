import { createLocalEmbedder } from '#core/embedding/local/embedder.ts'
import { evaluationMapping } from '#operator/evaluate/data-set-mapping.ts'
import { withTemporaryVersion } from '#operator/evaluate/temporary-version.ts'

/**
 * Imports and builds a corpus in this process and writes the manifest of what it built: `build-version.ts
 * <corpus.jsonl> <folder for temporary files>`.
 */
const [corpus = '', dataDir = ''] = process.argv.slice(2)

const version = {
  corpus,
  mapping: evaluationMapping({ limit: undefined, dated: false }),
  embedder: createLocalEmbedder(),
  relevant: new Set<string>(),
  dataDir,
  signal: new AbortController().signal,
  onProgress: () => undefined,
}
const manifest = await withTemporaryVersion(version, ({ artifact }) => Promise.resolve(artifact.manifest))
process.stdout.write(JSON.stringify(manifest))
