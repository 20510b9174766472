import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { READER_BOUNDS } from '#law/readers/bounds.ts'
import { IMPORT_BOUNDS } from '#law/import/bounds.ts'
import type { Passage } from '#law/import/passage/passage.ts'
import { markdownRecords } from '#law/import/record/markdown.ts'
import type { SourceItem } from '#law/import/record/record.ts'
import { listSource } from '#law/sources/list.ts'
import { folderWith } from '#test/support/folder.ts'
import { importContents, importFiles } from '#test/support/import.ts'
import { beeRules } from '#test/support/markdown-source.ts'

const FRONT = beeRules('', { subject: '[hives, honey]', citation_prefix: 'BEE-M' })

async function itemsOf(content: string): Promise<readonly SourceItem[]> {
  const path = join(folderWith({ 'a.md': content }), 'a.md')
  const items: SourceItem[] = []
  for await (const item of markdownRecords(path, new Set('abcdefghij'))) items.push(item)
  return items
}

describe('a Markdown import', () => {
  test('cuts at headings and fills citation, anchor, heading path and source id', async () => {
    const { passages, report } = await importContents({
      'a.md':
        `${FRONT}\n# Bee Rulebook\n\n## Chapter 1 — Hives\n\n### BEE-M 1.1 Register ` +
        `{#bee-m-1-1}\n\nEvery hive is registered.\n\n(a) At once.\n\n### About swarms\n\nA swarm is ` +
        `free.\n`,
    })
    expect(passages).toMatchObject([
      {
        text: 'Every hive is registered.\n\n(a) At once.',
        source_id: 'bees#bee-m-1-1',
        citation: { label: 'BEE-M 1.1', source_anchor: 'https://bees.example/rules#bee-m-1-1' },
        heading: 'Bee Rulebook › Chapter 1 — Hives › BEE-M 1.1 Register',
        subjects: ['hives', 'honey'],
        metadata: { jurisdiction: 'GB' },
        in_force_to: null,
        ordinal: 0,
      },
      {
        source_id: 'bees#about-swarms',
        citation: {
          label: 'Bee Rulebook, About swarms',
          source_anchor: 'https://bees.example/rules#:~:text=A%20swarm%20is%20free.',
        },
        ordinal: 1,
      },
    ])
    expect(report).toMatchObject({ records_read: 2, passages: 2, skipped: 0 })
  })

  test('reports a heading without text as a loss with the headings above it, unless it has sub-headings', async () => {
    const { passages, report } = await importContents({
      'a.md': `${FRONT}# Bee Rulebook\n\n## Hives\n\n### One\nText.\n\n### Two\n\n## Swarms\n\u200B\n`,
    })
    expect(passages.map((passage) => passage.heading)).toEqual(['Bee Rulebook › Hives › One'])
    expect(report.entries).toEqual([
      { source: 'a.md', line: 21, id: 'two', reason: 'heading without text', text: 'Bee Rulebook › Hives › Two\n' },
      { source: 'a.md', line: 23, id: 'swarms', reason: 'heading without text', text: 'Bee Rulebook › Swarms\n\u200B' },
    ])
    expect(report).toMatchObject({ records_read: 3, skipped: 2 })
  })

  test('makes an anchor that the publisher uses twice distinct, and warns of it with both lines', async () => {
    const content = `${FRONT}### One {#a}\nFirst.\n### Two {#a}\nSecond.\n`
    const { passages, report } = await importContents({ 'a.md': content })
    expect(passages.map((passage) => [passage.source_id, passage.citation.source_anchor, passage.text])).toEqual([
      ['bees#a', 'https://bees.example/rules#a', 'First.'],
      ['bees#a-2', 'https://bees.example/rules#:~:text=Second.', 'Second.'],
    ])
    expect(report.skipped).toBe(0)
    expect(report.warnings).toEqual({
      count: 1,
      entries: [
        {
          source: 'a.md',
          line: 16,
          id: 'a-2',
          message: 'the headings on lines 14 and 16 have the same anchor: the second is imported as a-2',
        },
      ],
    })
  })

  test('takes front matter as it is written; empty values and null are absent', async () => {
    const texts = 'a: 1.10\nb: yes\nc: 007\nd: 2024-07-01\ne: 0x1F\nf: "null"\n'
    const written = `${texts}g: [1.0, no, ~]\nh: ~\ni: null\nj:\n`
    const [item] = await itemsOf(`---\n${written}---\nText.\n`)
    expect(item?.kind === 'record' ? [...item.values].filter(([name]) => name.startsWith('metadata.')) : item).toEqual([
      ['metadata.a', '1.10'],
      ['metadata.b', 'yes'],
      ['metadata.c', '007'],
      ['metadata.d', '2024-07-01'],
      ['metadata.e', '0x1F'],
      ['metadata.f', 'null'],
      ['metadata.g', '1.0,no'],
    ])
  })

  test('refuses front matter over its bound, and a file that nests too deep', async () => {
    const long = `---\na: ${'x'.repeat(IMPORT_BOUNDS.frontMatterCharactersMax)}\n---\nText.\n`
    const deep = `---\na: b\n---\n# One\nText.\n\n${'- '.repeat(READER_BOUNDS.markdownNestingMax)}x\n\n# Two\nText.\n`
    expect(await itemsOf(long)).toEqual([
      {
        kind: 'fault',
        line: 1,
        reason: `front matter longer than ${IMPORT_BOUNDS.frontMatterCharactersMax} characters`,
      },
    ])
    expect(await itemsOf(deep)).toEqual([
      { kind: 'fault', line: 7, reason: `blocks nested deeper than ${READER_BOUNDS.markdownNestingMax} levels` },
    ])
  })

  test('names the act by the front matter, else by the prefix of its citations, and a rule by its number', async () => {
    const front = FRONT.replace(/citation_prefix.*\n/, 'citation_prefix: BEE-M\n')
    const own = front
      .replace('citation_prefix', 'act: ukpga:2020/7\naliases: [Bee Act 2020, BA 2020]\ncitation_prefix')
      .replace('document: bees', 'document: act')
    const body =
      '### BEE-M 1.1 Register {#bee-m-1-1}\n\nEvery hive is registered.\n\n### About swarms\n\nA swarm is free.\n'
    const { passages, report } = await importContents({
      'a.md': front + body,
      'b.md': own + body.replaceAll('BEE-M', 's.'),
    })
    expect(passages.map(({ references }) => references)).toEqual([
      ['rulebook:bee-m#1/1'],
      ['rulebook:bee-m'],
      ['ukpga:2020/7'],
      ['ukpga:2020/7'],
    ])
    expect(report.acts).toEqual([
      { id: 'rulebook:bee-m', aliases: ['BEE-M'] },
      { id: 'ukpga:2020/7', aliases: ['BA 2020', 'Bee Act 2020'] },
    ])
  })

  test('reads CRLF files with a byte order mark like any other', async () => {
    const body = `${FRONT}### BEE-M 1.1 Register {#x}\n\nEvery hive.\n\nEach one.\n`
    const [plain, windows] = await Promise.all(
      [body, `\uFEFF${body.replaceAll('\n', '\r\n')}`].map(
        async (content) => await importContents({ 'a.md': content }),
      ),
    )
    const withoutPlace = (passage: Passage): unknown => ({ ...passage, selector: undefined })
    expect(windows?.passages.map(withoutPlace)).toEqual(plain?.passages.map(withoutPlace))
    expect(plain?.passages).toHaveLength(1)
  })

  test('keeps text before the first heading', async () => {
    const { passages } = await importContents({
      'a.md': `${FRONT}\nThis rulebook binds every keeper.\n\n### One\nText.\n`,
    })
    expect(passages[0]).toMatchObject({
      source_id: 'bees#start',
      text: 'This rulebook binds every keeper.',
      citation: { label: 'Bee Rulebook' },
    })
  })

  test.each([
    ['no front matter', '# Readme\n', 1],
    ['no front matter', '---\ntitle: never closed\n', 1],
    ['front matter is not valid YAML', '---\na: [\n---\n# X\n', 1],
    ['front matter is not a list of fields with plain values', '---\ntitle: {b: c}\n---\n# X\n', 1],
    ['front matter is not a list of fields with plain values', '---\ntitle: &x [1]\nsubject: *x\n---\n# X\n', 1],
    ['front matter states "title" twice', '---\ntitle: a\ntitle: b\n---\n# X\n', 3],
    ['not valid UTF-8', Buffer.concat([Buffer.from(FRONT), Buffer.from([0x0a, 0xc3, 0x28])]), 15],
    ['HTML comment without an end', `${FRONT}### One\nA\n\n<!-- note\n\n### Two\nB\n`, 17],
    ['code fence without an end', `${FRONT}### One\nA\n\n\`\`\`\n\n### Two\nB\n`, 17],
    ['contains a NUL character', `${FRONT}### One\nA\0B\n`, 14],
    ['effective_at missing', `${FRONT.replace(/effective_at.*\n/, '')}### One\nText\n`, 13],
  ])('reports "%s" with its line', async (reason, content, at) => {
    const { report } = await importContents({ 'a.md': content })
    expect(report.entries.at(-1)).toMatchObject({ source: 'a.md', line: at, reason })
  })

  test('keeps the same rule of two revisions as two passages of one document', async () => {
    const body = '### One {#a}\nText.\n'
    const later = FRONT.replace('2024-07-01', '2025-07-01')
    const { passages, report } = await importContents({
      'a.md': FRONT.replace('verification', 'effective_to: 2025-07-01\nverification') + body,
      'b.md': later + body,
    })
    expect(passages.map((passage) => [passage.in_force_from, passage.in_force_to])).toEqual([
      ['2024-07-01', '2025-07-01'],
      ['2025-07-01', null],
    ])
    expect(new Set(passages.map((passage) => passage.chunk_id)).size).toBe(2)
    expect(report).toMatchObject({ documents: 1, revisions: 2 })
  })
})

describe('the demo rulebook', () => {
  test('imports without a skip', async () => {
    const folder = fileURLToPath(new URL('../../../../operator/demo/corpus/rulebook', import.meta.url))
    const { files } = await listSource(folder, 'markdown')
    expect(files).toHaveLength((await readdir(folder)).filter((name) => name.endsWith('.md')).length)
    const { passages, report } = await importFiles(files.map((file) => file.path))
    expect(report.entries).toEqual([])
    expect(passages.length).toBeGreaterThan(60)
    expect(report.facets.jurisdictions).toHaveLength(2)
    for (const { references } of passages)
      expect(references).toEqual([expect.stringMatching(/^rulebook:[a-z]{3}-[mf]#\d+\/\d+$/)])
    for (const passage of passages)
      expect(passage.citation.label).toMatch(/^[A-Z]+-[MF] \d+\.\d+( \(part \d of \d\))?$/)
  })
})
