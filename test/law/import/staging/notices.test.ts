import { describe, expect, test } from 'vitest'
import { MARKDOWN_MAPPING } from '#law/import/mapping/mapping.ts'
import type { ImportReport } from '#law/import/report/report.ts'
import { importContents, line, smallMapping } from '#test/support/import.ts'
import { beeRules } from '#test/support/markdown-source.ts'

const MUST = 'The keeper must act.'
const NEED_NOT = 'The keeper need not act.'

/** Places and messages of the warnings. */
function warned({ warnings }: ImportReport): readonly string[] {
  return warnings.entries.map(
    ({ source, line: at, message, other }) => `${source}:${at} ${message} ${other?.source}:${other?.line}`,
  )
}

async function warningsOf(
  contents: Readonly<Record<string, readonly string[]>>,
  revises: 'document' | 'provision' = 'document',
): Promise<readonly string[]> {
  return warned((await importContents(contents, smallMapping({}, { revises }))).report)
}

describe('a document of one day', () => {
  test.each(['document', 'provision'] as const)(
    'in several JSONL files is imported with one warning that names a place of each (%s)',
    async (revises) => {
      const part = (section: number): string => line(`r${section}`, `Rule ${section}.`, { section })
      expect(await warningsOf({ a: [part(1), part(2)], b: [part(3)], c: [part(4)] }, revises)).toEqual([
        'a:1 the document of one day comes from 3 sources: they must be parts of one text, c:1 r4 b:1',
      ])
    },
  )

  test('with two days of publication gets one warning, unless each provision is revised alone', async () => {
    const lines = [
      line('a', 'A.', { published: '2019-01-01' }),
      line('b', 'B.', { section: '2', published: '2019-06-01' }),
      line('c', 'C.', { section: '3', published: '2019-06-01' }),
    ]
    expect(await warningsOf({ c: lines })).toEqual([
      'c:2 records of one document take effect on one day and have different days of publication c:1',
    ])
    expect(await warningsOf({ c: lines }, 'provision')).toEqual([])
  })
})

describe('a revision of a document with fewer than half of the provisions', () => {
  const old = [1, 2, 3].map((section) => line(`o${section}`, 'Old.', { section, effective: '2020-01-01' }))
  const stray = line('n', 'New.', { effective: '2020-01-02' })

  test('ends the longer one with a warning that names both', async () => {
    expect(await warningsOf({ c: [...old, stray] })).toEqual([
      'c:4 a revision of 1 provisions ends one of 3: correct its day, or add the rest c:1',
    ])
  })

  test('gives no warning where nothing ends, or where half of them are there', async () => {
    expect(await warningsOf({ c: [...old, stray] }, 'provision')).toEqual([])
    expect(await warningsOf({ c: [...old.slice(1), stray] })).toEqual([])
    const ended = [1, 2, 3].map((section) =>
      line(`o${section}`, 'Old.', { section, effective: '2019-01-01', until: '2020-01-01' }),
    )
    expect(await warningsOf({ c: [...ended, stray] })).toEqual([])
  })
})

describe('a Markdown heading whose anchor is numbered', () => {
  const two = beeRules(`# A\n## Definitions\n${MUST}\n# B\n## Definitions\n${NEED_NOT}\n`)

  test('refuses the import where a revision replaces a provision, because its number may change', async () => {
    await expect(importContents({ 'a.md': two }, { ...MARKDOWN_MAPPING, revises: 'provision' })).rejects.toThrow(
      /a\.md:16 definitions-2: its anchor is numbered[\s\S]*anchors of their own/,
    )
    expect((await importContents({ 'a.md': two })).passages).toHaveLength(2)
  })

  test('is allowed where the publisher gives every heading an anchor of its own', async () => {
    const own = two.replace('## Definitions', '## Definitions {#a-2}').replace(/## Definitions$/m, '$& {#b-2}')
    const { passages } = await importContents({ 'a.md': own }, { ...MARKDOWN_MAPPING, revises: 'provision' })
    expect(passages.map(({ source_id }) => source_id)).toEqual(['bees#a-2', 'bees#b-2'])
    const words = beeRules(`# Rule 2\n${MUST}\n# Rule 3\n${NEED_NOT}\n`)
    expect(
      (await importContents({ 'a.md': words }, { ...MARKDOWN_MAPPING, revises: 'provision' })).passages,
    ).toHaveLength(2)
  })
})
