import { fileURLToPath, pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { createArtifactStore } from '#core/index/format/store.ts'
import { derivedUuid } from '#core/platform/ids.ts'
import { buildParametersSchema } from '#jobs/version-build/parameters.ts'
import { buildVersion } from '#jobs/version-build/pipeline.ts'
import { MARKDOWN_MAPPING } from '#law/import/mapping/mapping.ts'
import { captureSources, snapshotsOf } from '#law/sources/capture.ts'
import { listSource } from '#law/sources/list.ts'
import { signingKeys } from '#test/support/secrets.ts'
import { WORD_EMBEDDER } from '#test/support/word-vectors.ts'
import { QUIET_BUILD } from './quiet-build.ts'
import { folderOfTest } from '#test/support/folder.ts'

const rulebook = fileURLToPath(new URL('../../../operator/demo/corpus/rulebook', import.meta.url))
const knowledgeBaseId = derivedUuid('knowledge base', 'fixed digest')
const buildId = derivedUuid('build', 'fixed digest')

/**
 * See test/core: a digest that changes without a change of format is a fault. This test starts from the captured
 * sources: import, ids, order, vectors, index.
 */
test('the same sources, build and embedder give the same bytes as ever', async () => {
  const root = folderOfTest()
  const keys = signingKeys()
  const store = createArtifactStore(pathToFileURL(root).href)
  const captured = await captureSources(store, (await listSource(rulebook, 'markdown')).files)
  const { artifact } = await buildVersion(
    {
      fence: { buildId, attempt: 1 },
      knowledgeBaseId,
      knowledgeBase: 'rules',
      parameters: buildParametersSchema.parse({ embedding: 'openai' }),
      source: {
        id: derivedUuid('import', 'fixed digest'),
        knowledgeBaseId,
        mapping: MARKDOWN_MAPPING,
        snapshots: snapshotsOf(knowledgeBaseId, captured),
      },
      store,
      workFolder: store.workFolder(buildId),
      privateKeyDer: keys.privateKeyDer,
      publicKeysDer: [keys.publicKeyDer],
      ...QUIET_BUILD,
      signal: new AbortController().signal,
    },
    WORD_EMBEDDER,
  )
  expect(artifact.manifestDigest.toString('hex')).toBe(
    '3eb6f73fafad05fe410db0ba285d663b9c4abb06b89b6586cbe08191b6c354e8',
  )
})
