import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { corpusAt, corpusDigest, proposeStated } from '#operator/demo/corpus.ts'
import { firstTexts } from '#operator/demo/show.ts'
import { testPassage } from '#test/support/passages.ts'
import { folderOfTest } from '#test/support/folder.ts'

let folder: string
beforeEach(() => {
  folder = folderOfTest()
})

function corpusFolder(name: string, file: string): string {
  const path = join(folder, name)
  mkdirSync(path)
  writeFileSync(join(path, file), '')
  return path
}

test.each(['cfpb', 'de', 'eu', 'fr', 'obliqa'])(
  'Markdown in a folder named %s is Markdown, and corpus.jsonl there has the built-in mapping',
  (name) => {
    const path = corpusFolder(name, 'rules.md')
    expect(corpusAt(path)).toMatchObject({ slug: `own-${name}`, title: name, mappingFile: undefined })
    writeFileSync(join(path, 'corpus.jsonl'), '')
    expect(corpusAt(path).mappingFile).toMatch(new RegExp(`law/import/corpus/mappings/${name}\\.json$`))
  },
)

test('a folder whose files do not state all gets a source.yaml, whose empty lines are counted, and keeps its own one', async () => {
  const path = corpusFolder('law', 'act.html')
  const file = join(path, 'source.yaml')
  writeFileSync(
    join(path, 'act.html'),
    '<html lang="en"><h1>Pier Act</h1><h2>Section 1</h2><p>A pier has a lantern.</p>',
  )
  expect(await proposeStated(path)).toMatch(/^Wrote \S+source\.yaml: 5 lines to fill, then start again\.\n.*authority/s)
  const written = readFileSync(file, 'utf8')
  expect(written).toMatch(/^authority:$/m)
  expect(await proposeStated(path)).toBeUndefined()
  expect(readFileSync(file, 'utf8')).toBe(written)
})

const EVERY_KIND = [
  'rules.md',
  'RULES.MD',
  'corpus.jsonl',
  'act.html',
  'act.xml',
  'act.pdf',
  'act.pdf.draft.md',
  'source.yaml',
  'mapping.json',
  'questions.jsonl',
  'left-out.csv',
  'sub/deeper/act.akn',
]

test('a change, a removal and another name of each file of a corpus make it another one; what is hidden does not', async () => {
  const path = corpusFolder('rules', 'rules.md')
  mkdirSync(join(path, 'sub/deeper'), { recursive: true })
  for (const file of EVERY_KIND) writeFileSync(join(path, file), '{}')
  const digestNow = async (): Promise<string> => await corpusDigest(corpusAt(path))
  const seen = new Set([await digestNow()])
  for (const file of EVERY_KIND) {
    writeFileSync(join(path, file), '{ }')
    seen.add(await digestNow())
    renameSync(join(path, file), join(path, `renamed-${basename(file)}`))
    seen.add(await digestNow())
  }
  expect(seen.size).toBe(1 + 2 * EVERY_KIND.length)
  const last = await digestNow()
  mkdirSync(join(path, '.git'))
  for (const hidden of ['.git/HEAD', '.DS_Store']) writeFileSync(join(path, hidden), 'changed')
  expect(await digestNow()).toBe(last)
})

test.each(['act.html', 'source.yaml'])(
  'a corpus of one file is another one where %s beside it changes',
  async (changed) => {
    const path = corpusFolder('rules', 'act.html')
    writeFileSync(join(path, 'source.yaml'), '')
    const source = join(path, 'act.html')
    const before = await corpusDigest(corpusAt(source))
    writeFileSync(join(path, changed), 'changed')
    expect(await corpusDigest(corpusAt(source))).not.toBe(before)
  },
)

test('the questions of a corpus without a question set are sentences of its provisions, before other beginnings', async () => {
  const law = 'Every keeper of bees gives each hive a number that stands on its front in letters of two centimetres.'
  const texts = ['(1) OJ C 229, 31.7.2012, p. 90. (2) OJ C 391.', 'Every hive has a number.', `1. Short. ${law} More.`]
  const file = join(folder, 'passages.jsonl')
  const passages = texts.map((text, n) => ({
    ...testPassage(n, { text }),
    references: n === 2 ? ['act:bees#1'] : ['act:bees'],
  }))
  writeFileSync(file, passages.map((passage) => JSON.stringify(passage)).join('\n'))
  expect(await firstTexts(file)).toEqual([law, ...texts.slice(0, 2)])
})
