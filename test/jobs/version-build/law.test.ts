import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { importCaptured } from '#jobs/capture/import-captured.ts'
import { statedMapping } from '#law/import/corpus/corpus-mapping.ts'
import { parseSourceYaml } from '#law/import/corpus/source-yaml.ts'
import { captureSources } from '#law/sources/capture.ts'
import { listSource } from '#law/sources/list.ts'
import { openJobsHarness } from '#test/support/jobs.ts'
import { ONE_OF_EACH, SAMPLE_SOURCE_YAML } from '#test/law/readers/samples.ts'
import { folderOfFile } from '#test/support/folder.ts'

const harness = await openJobsHarness()
const folder = folderOfFile()
for (const { format, bytes } of ONE_OF_EACH) await writeFile(join(folder, format), bytes)

/** Samples of one title or document contradict others, so that they are imported apart. */
const APART = new Set(['clml', 'formex', 'gii-norm', 'pdf'])

test.each([
  ['most formats', false],
  ['CLML, Formex, German XML and PDF', true],
])('law of %s is built into a candidate, each passage found again in the captured bytes', async (_name, isApart) => {
  const id = await harness.createKnowledgeBase()
  const { files } = await listSource(folder, 'law')
  const wanted = files.filter(({ sourceName }) => APART.has(sourceName) === isApart)
  const sources = await captureSources(harness.store, wanted)
  const mapping = statedMapping(parseSourceYaml(SAMPLE_SOURCE_YAML))
  const knowledgeBase = { id, slug: 'law' }
  const deps = { database: harness.owner, store: harness.store }
  const imported = await importCaptured(deps, { knowledgeBase, mapping, sources, leftOut: [], actor: 'tester' })
  expect(imported.report.files).toBe(wanted.length)
  await harness.candidate(id, imported.id)
})
