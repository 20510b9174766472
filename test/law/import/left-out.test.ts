import { mkdirSync, writeFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { beforeAll, expect, test } from 'vitest'
import { createArtifactStore } from '#core/index/format/store.ts'
import { importCorpus } from '#operator/actions/import-corpus.ts'
import { createKnowledgeBase } from '#operator/actions/organizations.ts'
import { FORMATS_OF_SOURCES } from '#law/sources/list.ts'
import { line, smallMapping } from '#test/support/import.ts'
import { beeRules } from '#test/support/markdown-source.ts'
import { openOperatorHarness } from '#test/support/operator-cli.ts'
import { folderOfFile, folderWith } from '#test/support/folder.ts'

const folder = folderOfFile()
const source = join(folder, 'source')
const NOT_MARKDOWN = 'not a Markdown file (*.md, *.markdown)'

function page(document: string): string {
  const front = {
    document,
    title: `Bee Rulebook, volume ${document}`,
    canonical_url: `https://bees.example/${document}`,
    subject: 'hives',
  }
  return beeRules(`### Register\n\nEvery hive of ${document} is registered.\n`, front)
}

const acceptLoss = ['notes.txt:1', 'sub/mdfile:1']
const harness = await openOperatorHarness()
beforeAll(async () => {
  const files = {
    'a.md': page('a'),
    'B.MD': page('b'),
    'c.markdown': page('c'),
    'sub/e.Md': page('e'),
    'notes.txt': 'Text.',
    'sub/mdfile': 'Text.',
    '.hidden': 'Text.',
    '.history/a.md': page('a').replace('is registered', 'need not be registered'),
  }
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(source, name)), { recursive: true })
    writeFileSync(join(source, name), content)
  }
  await createKnowledgeBase(harness.operator, { slug: 'bees', title: 'Bees' })
})

test('an import reads Markdown whatever the case of its ending, and reports every other file as skipped', async () => {
  const store = createArtifactStore(pathToFileURL(join(folder, 'store')).href)
  const { report } = await importCorpus(harness.operator, { knowledgeBase: 'bees', source, store, acceptLoss })
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

test('a draft in a hidden folder never takes the place of the real provision', async () => {
  const store = createArtifactStore(pathToFileURL(join(folder, 'drafts')).href)
  const { report } = await importCorpus(harness.operator, { knowledgeBase: 'bees', source, store, acceptLoss })
  expect(Object.keys(report.reasons)).toEqual([NOT_MARKDOWN])
  const snapshots = await readdir(join(folder, 'drafts'), { recursive: true, withFileTypes: true })
  const captured = await Promise.all(
    snapshots
      .filter((file) => file.isFile())
      .map(async (file) => await readFile(join(file.parentPath, file.name), 'utf8')),
  )
  expect(captured).toHaveLength(4)
  expect(captured.join('')).not.toContain('need not be')
})

test('a folder of JSONL parts is imported whole; other JSONL is left out, and lost if named like a part', async () => {
  const part = (id: string): string => line(id, `Rule ${id}: every hive is registered.`, { section: id })
  const parts = folderWith({
    'corpus-1.jsonl': part('a'),
    'corpus-2.jsonl': part('b'),
    'queries.jsonl': part('q'),
    'corpus_3.jsonl': part('c'),
  })
  const mapping = join(folder, 'mapping.json')
  writeFileSync(mapping, JSON.stringify(smallMapping()))
  const store = createArtifactStore(pathToFileURL(join(folder, 'parts-store')).href)
  const input = { knowledgeBase: 'bees', source: parts, mapping, store }
  await expect(importCorpus(harness.operator, input)).rejects.toThrow('not accepted as corpus_3.jsonl:1')
  const { report } = await importCorpus(harness.operator, { ...input, acceptLoss: ['corpus_3.jsonl:1'] })
  expect(report).toMatchObject({ files: 2, passages: 2, skipped: 2, lost: 1 })
  expect(report.entries).toEqual(
    ['corpus_3.jsonl', 'queries.jsonl'].map((name) => ({
      source: name,
      line: 1,
      reason: FORMATS_OF_SOURCES.jsonl.leftOut,
    })),
  )
})
