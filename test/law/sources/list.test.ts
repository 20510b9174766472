import { symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { FORMATS_OF_SOURCES, listSource, type SourceFormat } from '#law/sources/list.ts'
import { folderWith } from '#test/support/folder.ts'

const folder = (...names: readonly string[]): string =>
  folderWith(Object.fromEntries(names.map((name) => [name, 'Text.'])))

async function listed(path: string, format: SourceFormat) {
  const { files, leftOut } = await listSource(path, format)
  return { read: files.map((file) => file.sourceName), leftOut }
}

describe('a folder of Markdown', () => {
  test('gives every Markdown file of the tree, sorted, named by its path with forward slashes', async () => {
    const path = folder('b.md', 'a/z.md', 'a/y.md', 'notes.txt')
    expect(await listed(path, 'markdown')).toEqual({ read: ['a/y.md', 'a/z.md', 'b.md'], leftOut: ['notes.txt'] })
  })

  test('has each visible file either read or left out by name, whatever the case of its ending', async () => {
    const path = folder('a.md', 'B.MD', 'c.markdown', 'sub/e.Md', 'notes.txt', 'sub/mdfile')
    expect(await listed(path, 'markdown')).toEqual({
      read: ['B.MD', 'a.md', 'c.markdown', 'sub/e.Md'],
      leftOut: ['notes.txt', 'sub/mdfile'],
    })
  })
})

test.each(['markdown', 'jsonl'] as const)(
  'a link to a folder is refused rather than its files left out: %s',
  async (format) => {
    const path = folder('a.md', 'corpus.jsonl')
    await symlink(folder('b.md', 'corpus-2.jsonl'), join(path, 'linked'))
    await expect(listSource(path, format)).rejects.toThrow(/link to a folder/)
  },
)

test.each([
  [
    'jsonl',
    ['Corpus-2.jsonl.gz', 'a/corpus-draft.jsonl', 'corpus', 'corpus.json'],
    ['queries.jsonl', 'a/xcorpus.jsonl'],
  ],
  [
    'markdown',
    ['rules.txt', 'a/mdfile', 'rules.md.bak', 'act.pdf'],
    ['logo.png', 'a/B.JPEG', 'queries.jsonl', 'a.yml'],
  ],
] as const)('a file that is left out of %s counts as lost only if it may be meant', (format, meant, beside) => {
  expect([...meant, ...beside].filter(FORMATS_OF_SOURCES[format].mayBelong)).toEqual(meant)
})

describe('a hidden file or folder', () => {
  const HIDDEN = ['.a.md', '.history/x.md', 'sub/.x/deep/y.md', '.notes', '.git/config', '.history/corpus.jsonl']

  test.each(['markdown', 'jsonl'] as const)('is neither read nor listed as left out: %s', async (format) => {
    const path = folder(...HIDDEN, 'real.md', 'corpus.jsonl')
    const { read, leftOut } = await listed(path, format)
    expect(read).toEqual([format === 'markdown' ? 'real.md' : 'corpus.jsonl'])
    expect(leftOut).toEqual(format === 'markdown' ? ['corpus.jsonl'] : [])
  })

  test('does not hide what lies above the source', async () => {
    const path = join(folder('.hidden/a.md'), '.hidden')
    expect((await listed(path, 'markdown')).read).toEqual(['a.md'])
  })

  test('may hold the content of a link that is not hidden, as in a mounted ConfigMap', async () => {
    const path = folder('..2026/a.md')
    await symlink('..2026', join(path, '..data'))
    await symlink('..data/a.md', join(path, 'a.md'))
    expect(await listed(path, 'markdown')).toEqual({ read: ['a.md'], leftOut: [] })
  })
})

describe('a JSONL source', () => {
  test('is the file itself', async () => {
    const path = folder('corpus.jsonl', 'other.jsonl')
    expect(await listed(join(path, 'other.jsonl'), 'jsonl')).toEqual({ read: ['other.jsonl'], leftOut: [] })
  })

  test('is corpus.jsonl and its numbered parts; other JSONL and what is named like a corpus is left out', async () => {
    const read = ['Corpus-002.JSONL', 'corpus-1.jsonl', 'corpus.jsonl']
    const leftOut = [
      'corpus-3.jsonl.gz',
      'corpus-4.ndjson',
      'corpus-5.json',
      'corpus-draft.jsonl',
      'corpus-v2-1.jsonl',
      'corpus_6.jsonl',
      'parts/corpus-7.jsonl',
      'queries.jsonl',
    ]
    const path = folder(...leftOut, ...read, 'qrels.tsv', 'logo.png')
    expect(await listed(path, 'jsonl')).toEqual({ read, leftOut })
  })

  test('needs no corpus.jsonl beside its parts', async () => {
    const path = folder('corpus-1.jsonl', 'corpus-2.jsonl')
    expect((await listed(path, 'jsonl')).read).toEqual(['corpus-1.jsonl', 'corpus-2.jsonl'])
  })
})

test('a source with nothing to read is refused with what is missing', async () => {
  const path = folder('notes.txt', 'queries.jsonl')
  await expect(listSource(path, 'jsonl')).rejects.toThrow(/holds no corpus\.jsonl and no corpus-<digits>\.jsonl/)
  await expect(listSource(path, 'markdown')).rejects.toThrow(/holds no Markdown file/)
  await expect(listSource(join(path, 'nowhere'), 'jsonl')).rejects.toThrow(/name an existing file or folder/)
})
