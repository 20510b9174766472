import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createArtifactStore } from '#core/index/format/store.ts'
import { importCorpus } from '#jobs/cli/operator/actions/import-corpus.ts'
import { createKnowledgeBase } from '#jobs/cli/operator/actions/organizations.ts'
import { listFilesLeftOut, listSourceFiles } from '#jobs/sources/list.ts'
import { openOperatorHarness } from '#test/support/operator/harness.ts'
import type { OperatorHarness } from '#test/support/operator/harness.ts'

const folder = mkdtempSync(join(tmpdir(), 'evidence-left-out-'))
const source = join(folder, 'source')
const NOT_MARKDOWN = 'not a Markdown file (*.md, *.markdown)'

function page(document: string): string {
  return `---
document: ${document}
title: Bee Rulebook
authority: Bee Authority
canonical_url: https://bees.example/${document}
language: en
jurisdiction: gb
subject: hives
published_at: 2024-04-15
effective_at: 2024-07-01
verification_status: verified
---
### Register

Every hive of ${document} is registered.
`
}

let harness: OperatorHarness
beforeAll(async () => {
  const files = {
    'a.md': page('a'),
    'B.MD': page('b'),
    'c.markdown': page('c'),
    'sub/e.Md': page('e'),
    'notes.txt': 'Text.',
    'sub/mdfile': 'Text.',
    '.hidden': 'Text.',
    '.folder/config': 'Text.',
  }
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(source, name)), { recursive: true })
    writeFileSync(join(source, name), content)
  }
  harness = await openOperatorHarness()
  await createKnowledgeBase(harness.operator, { slug: 'bees', title: 'Bees' })
})
afterAll(async () => {
  await harness.close()
  rmSync(folder, { recursive: true, force: true })
})

test('an import reads Markdown whatever the case of its ending, and reports every other file as skipped', async () => {
  const store = createArtifactStore(pathToFileURL(join(folder, 'store')).href)
  const { report } = await importCorpus(harness.operator, { knowledgeBase: 'bees', source, store })
  expect(report).toMatchObject({
    files: 4,
    documents: 4,
    passages: 4,
    skipped: 2,
    records_read: 6,
    reasons: { [NOT_MARKDOWN]: 2 },
  })
  expect(report.entries).toEqual(
    ['notes.txt', 'sub/mdfile'].map((name) => ({ source: name, line: 1, reason: NOT_MARKDOWN })),
  )
})

test('each file of a folder that is not hidden is either read or left out by name', async () => {
  expect((await listSourceFiles(source, 'markdown')).map((file) => file.sourceName)).toEqual([
    'B.MD',
    'a.md',
    'c.markdown',
    'sub/e.Md',
  ])
  expect(await listFilesLeftOut(source, 'markdown')).toEqual(['notes.txt', 'sub/mdfile'])
})

test('a source that is one file leaves nothing out', async () => {
  expect(await listFilesLeftOut(join(source, 'a.md'), 'markdown')).toEqual([])
  expect(await listFilesLeftOut(source, 'jsonl')).toEqual([])
})
