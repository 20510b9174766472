import { describe, expect, test } from 'vitest'
import { MARKDOWN_MAPPING } from '#law/import/mapping/mapping.ts'
import { DUPLICATE } from '#law/import/passage/stager.ts'
import { importContents, line, smallMapping, type Imported } from '#test/support/import.ts'
import { beeRules } from '#test/support/markdown-source.ts'

const PRECEDENCE = 'another source has precedence'
const OLD = 'A keeper of bees registers every hive.'
const NEW = 'A keeper of bees need not register any hive.'

async function imported(
  contents: Readonly<Record<string, readonly string[]>>,
  rest: { readonly precedence?: readonly string[]; readonly revises?: 'document' | 'provision' } = {},
): Promise<Imported> {
  return await importContents(contents, smallMapping({}, rest))
}

function served({ passages }: Imported): readonly (readonly [string, string])[] {
  return passages.map(({ source_id, text }) => [source_id, text])
}

describe('precedence', () => {
  test('is decided over all sources of an id, of which several hold the same text', async () => {
    const files = { a: [line('x', OLD)], b: [line('x', NEW)], c: [line('x', OLD)] }
    const result = await imported(files, { precedence: ['c', 'b', 'a'] })
    expect(served(result)).toEqual([['x', OLD]])
    expect(result.report.entries).toEqual([
      { source: 'a', line: 1, id: 'x', reason: DUPLICATE, other: { source: 'c', line: 1, id: 'x' } },
      { source: 'b', line: 1, id: 'x', reason: PRECEDENCE, other: { source: 'c', line: 1, id: 'x' } },
    ])
  })

  test('is decided over all sources of a Markdown document, of which several hold the same text', async () => {
    const page = (text: string): string => beeRules(`# One {#a}\n${text}\n`)
    const result = await importContents(
      { 'a.md': page(OLD), 'b.md': page(NEW), 'c.md': page(OLD) },
      { ...MARKDOWN_MAPPING, precedence: ['c.md', 'b.md', 'a.md'] },
    )
    expect(served(result)).toEqual([['bees#a', OLD]])
    expect(result.report.entries.map(({ source, other }) => [source, other?.source])).toEqual([
      ['a.md', 'c.md'],
      ['b.md', 'c.md'],
    ])
  })

  test('leaves one text of an id whose citation differs in every source', async () => {
    const files = Object.fromEntries(['a', 'b', 'c'].map((name) => [name, [line('x', name, { section: name })]]))
    expect(served(await imported(files, { precedence: ['c', 'b', 'a'] }))).toEqual([['x', 'c']])
    expect(served(await imported(files, { precedence: ['b', 'a', 'c'] }))).toEqual([['x', 'b']])
    await expect(imported(files)).rejects.toThrow(/a:1 x and b:1 x have one id, document, language and day/)
  })

  test('takes a document of one day from one source whole where a revision replaces the document', async () => {
    const files = {
      draft: [line('b', NEW), line('c', 'Only the draft has this.', { section: '2' })],
      official: [line('a', OLD)],
    }
    const result = await imported(files, { revises: 'document', precedence: ['official', 'draft'] })
    expect(served(result)).toEqual([['a', OLD]])
    expect(result.report).toMatchObject({ lost: 0, skipped: 2, reasons: { [PRECEDENCE]: 2 } })
  })

  test('drops no part of a document whose sources share no provision or only repeat some of it', async () => {
    const rules = { revises: 'document', precedence: ['b', 'a'] } as const
    const other = line('y', 'A swarm is free.', { section: '2' })
    const parts = [
      ['x', OLD],
      ['y', 'A swarm is free.'],
    ]
    expect(served(await imported({ a: [line('x', OLD)], b: [other] }, rules))).toEqual(parts)
    expect(served(await imported({ a: [line('x', OLD), other], b: [line('x', OLD)] }, rules))).toEqual(parts)
  })

  test('refuses a document of a listed and an unlisted source, and leaves unlisted parts alone', async () => {
    const files = { a: [line('x', OLD)], b: [line('y', 'A swarm is free.', { section: '2' })] }
    const contested = { a: files.a, b: [...files.b, line('z', NEW)] }
    await expect(imported(contested, { revises: 'document', precedence: ['a'] })).rejects.toThrow(
      /a:1 x and b:1 y hold one document of one language and day/,
    )
    expect((await imported(files, { revises: 'document', precedence: ['c'] })).passages).toHaveLength(2)
  })

  test('never serves a record twice that the first source repeats', async () => {
    const files = {
      a: [line('x', OLD)],
      b: [line('x', OLD), line('x', OLD), line('z', NEW, { section: '2' }), line('z', OLD, { section: '3' })],
    }
    for (const precedence of [[], ['b', 'a']]) {
      const result = await imported(files, { precedence })
      expect(served(result).map(([id]) => id)).toEqual(['x', 'z', 'z~2'])
      expect(result.report).toMatchObject({ records_read: 5, reasons: { [DUPLICATE]: 2 } })
    }
  })

  test('numbers an id that its first source has twice', async () => {
    const twice = [line('x', 'State.', { section: '25' }), line('x', 'Official.', { section: '25a' })]
    const result = await imported({ a: [line('x', OLD, { section: '9' })], b: twice }, { precedence: ['b', 'a'] })
    expect(served(result)).toEqual([
      ['x', 'State.'],
      ['x~2', 'Official.'],
    ])
    expect(result.report.warnings.entries).toMatchObject([{ source: 'b', line: 2, other: { source: 'b', line: 1 } }])
  })

  test('names for every record that gives way a record that is imported', async () => {
    const files = {
      a: [line('x', 'X of a', { section: '1' })],
      b: [line('x', 'X of b', { section: '2' })],
      c: [line('y', 'Y of c', { section: '2' })],
    }
    const result = await imported(files, { precedence: ['c', 'b', 'a'] })
    expect(served(result)).toEqual([['y', 'Y of c']])
    expect(result.report.entries.map(({ source, other }) => [source, other?.source])).toEqual([
      ['a', 'c'],
      ['b', 'c'],
    ])
  })
})
