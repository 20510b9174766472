import { describe, expect, test } from 'vitest'
import { IMPORT_BOUNDS } from '#jobs/import/bounds.ts'
import { MARKDOWN_MAPPING } from '#jobs/import/mapping.ts'
import type { ImportReport } from '#jobs/import/report.ts'
import { beeRules } from '#test/support/jobs/bee-rules.ts'
import { importContents, line, smallMapping } from '#test/support/jobs/run-import.ts'

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
  const files = Object.entries(contents).map(([name, lines]) => [name, lines.join('\n')] as const)
  return warned((await importContents(Object.fromEntries(files), smallMapping({}, { revises }))).report)
}

describe('two texts of one provision on one day in one file', () => {
  const sentence = 'a provision has two texts on one day: both are imported as distinct passages'

  test('are distinct provisions, with a warning that names both places, also where their ids differ', async () => {
    const lines = [line('art5', MUST), line('art5x', NEED_NOT)]
    const { passages, report } = await importContents({ c: lines.join('\n') }, smallMapping())
    expect(new Set(passages.map(({ provision }) => provision)).size).toBe(2)
    expect(warned(report)).toEqual([`c:2 ${sentence} c:1`])
  })

  test('are warned of where two Markdown headings have one reference, and not where they share words', async () => {
    const body = `# 1\n## COB 1.1 Duty\n${MUST}\n## Scope\nAll.\n# 2\n## COB 1.1 Duty\n${NEED_NOT}\n## Scope\nNone.\n`
    const { passages, report } = await importContents({ 'a.md': beeRules(body, { citation_prefix: 'COB' }) })
    expect(new Set(passages.map(({ provision }) => provision)).size).toBe(4)
    expect(warned(report)).toEqual([`a.md:19 ${sentence} a.md:14`])
  })

  test('are not warned of where the texts are equal', async () => {
    const same = ['a', 'b'].map((id) => JSON.stringify({ ...JSON.parse(line(id, MUST)), title: 'Section' }))
    expect(await warningsOf({ c: same })).toEqual([])
  })

  test('have a bounded number of entries in the report, which counts the rest', async () => {
    const lines = Array.from({ length: IMPORT_BOUNDS.reportEntriesMax + 3 }, (_, n) => line(`r${n}`, `Rule ${n}.`))
    const { report } = await importContents({ c: lines.join('\n') }, smallMapping())
    expect(report.warnings.count).toBe(IMPORT_BOUNDS.reportEntriesMax + 2)
    expect(report.warnings.entries).toHaveLength(IMPORT_BOUNDS.reportEntriesMax)
  })
})

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
