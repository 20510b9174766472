import { readdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { listSource } from '#jobs/sources/list.ts'
import { importContents, importFiles } from '#test/support/jobs/run-import.ts'

const FRONT = `---
document: bees
title: Bee Rulebook
authority: Bee Authority
canonical_url: https://bees.example/rules
language: en
jurisdiction: gb
subject: [hives, honey]
published_at: 2024-04-15
effective_at: 2024-07-01
citation_prefix: BEE-M
verification_status: verified
---
`

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
    expect(report.entries.map(({ line, reason }) => [line, reason])).toEqual([
      [15, 'heading without text'],
      [17, 'heading without text'],
    ])
    expect(report).toMatchObject({ records_read: 4, passages: 2, skipped: 2 })
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

  test('takes no line of a code fence for a heading', async () => {
    const { passages } = await importContents({
      'a.md': [
        `${FRONT}### One\nText\n\`\`\`\`sh\n# not a heading\n\`\`\`\n`,
        '## nor this\n````\nmore\n### Two\nText\n',
      ].join(''),
    })
    expect(passages.map((passage) => passage.source_id)).toEqual(['bees#one', 'bees#two'])
    expect(passages[0]?.text).toContain('## nor this')
  })

  test('reads CRLF files with a byte order mark like any other', async () => {
    const body = `${FRONT}### BEE-M 1.1 Register {#x}\n\nEvery hive.\n\nEach one.\n`
    const [plain, windows] = await Promise.all(
      [body, `\uFEFF${body.replaceAll('\n', '\r\n')}`].map(
        async (content) => await importContents({ 'a.md': content }),
      ),
    )
    expect(windows?.passages).toEqual(plain?.passages)
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
    ['front matter is not a list of fields with plain values', '---\na: {b: c}\n---\n# X\n', 1],
    ['front matter is not a list of fields with plain values', '---\na: &x [1]\nb: *x\n---\n# X\n', 1],
    ['not valid UTF-8', Buffer.concat([Buffer.from(FRONT), Buffer.from([0x0a, 0xc3, 0x28])]), 15],
    ['contains a NUL character', `${FRONT}### One\nA\0B\n`, 14],
    ['effective_at missing', `${FRONT.replace(/effective_at.*\n/, '')}### One\nText\n`, 13],
    ['duplicate id', `${FRONT}### One {#a}\nText\n### Two {#a}\nText\n`, 16],
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
  test('imports without a skip other than headings that have no text', async () => {
    const folder = fileURLToPath(new URL('../../../jobs/cli/demo/corpus/rulebook', import.meta.url))
    const { files } = await listSource(folder, 'markdown')
    expect(files).toHaveLength((await readdir(folder)).filter((name) => name.endsWith('.md')).length)
    const { passages, report } = await importFiles(files.map((file) => file.path))
    expect(Object.keys(report.reasons)).toEqual(['heading without text'])
    expect(passages.length).toBeGreaterThan(60)
    expect(report.facets.jurisdictions).toHaveLength(2)
    for (const { references } of passages)
      expect(references).toEqual([expect.stringMatching(/^rulebook:[a-z]{3}-[mf]#\d+\/\d+$/)])
    for (const passage of passages)
      expect(passage.citation.label).toMatch(/^[A-Z]+-[MF] \d+\.\d+( \(part \d of \d\))?$/)
  })
})
