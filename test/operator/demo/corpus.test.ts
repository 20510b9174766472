import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { corpusAt, corpusDigest } from '#operator/demo/corpus.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'evidence-corpus-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

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

test.each(['rules.md', 'RULES.MD', 'rules.markdown'])('a change of %s makes the corpus another one', (file) => {
  const path = corpusFolder('rules', file)
  const before = corpusDigest(corpusAt(path))
  writeFileSync(join(path, file), 'changed')
  expect(corpusDigest(corpusAt(path))).not.toBe(before)
})
