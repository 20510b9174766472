import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { buildVersion } from '#jobs/version-build/pipeline.ts'
import { MARKDOWN_MAPPING } from '#law/import/mapping/mapping.ts'
import { captureSources } from '#law/sources/capture.ts'
import { listSource } from '#law/sources/list.ts'
import { WORD_EMBEDDER } from '#test/support/word-vectors.ts'
import { buildContextOf } from './quiet-build.ts'
import { storeIn } from '#test/support/artifact.ts'
import { folderOfTest } from '#test/support/folder.ts'

const rulebook = fileURLToPath(new URL('../../../operator/demo/corpus/rulebook', import.meta.url))

/**
 * See test/core: a digest that changes without a change of format is a fault. This test starts from the captured
 * sources: import, ids, order, vectors, index.
 */
test('the same sources, build and embedder give the same bytes as ever', async () => {
  const root = folderOfTest()
  const store = storeIn(root)
  const captured = await captureSources(store, (await listSource(rulebook, 'markdown')).files)
  const source = { captured, mapping: MARKDOWN_MAPPING }
  const context = await buildContextOf('fixed digest', store, source, { embedding: 'openai' })
  const { artifact } = await buildVersion(context, WORD_EMBEDDER)
  expect(artifact.manifestDigest.toString('hex')).toBe(
    'a6b79de48924f40e0a134ab7c59d7c9209354b4898f4f5cc61c737b827432b63',
  )
})
