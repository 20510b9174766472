import { describe, expect, test } from 'vitest'
import { IMPORT_BOUNDS } from '#law/import/bounds.ts'
import { MARKDOWN_MAPPING } from '#law/import/mapping/mapping.ts'
import { DUPLICATE } from '#law/import/passage/stager.ts'
import { renderImportReport } from '#law/import/report/report.ts'
import { importContents, importLines, line, smallMapping } from '#test/support/import.ts'
import { beeRules } from '#test/support/markdown-source.ts'

const TEXT = 'A keeper of bees registers every hive.'
const OTHER = 'A keeper of bees need not register any hive.'
const PRECEDENCE = 'another source has precedence'

const RULES = `### One {#a}\n${TEXT}\n### Two {#b}\nA swarm is free.\n`
const DRAFT = RULES.replace('registers every', 'need not register any')

describe('a Markdown document', () => {
  test('of one language and day in two files with another text refuses the import and names both places', async () => {
    const files = { 'copy.md': beeRules(DRAFT), 'rules.md': beeRules(RULES) }
    await expect(importContents(files)).rejects.toThrow(
      /^Nothing is imported.*\n {2}copy\.md:12 a and rules\.md:12 a have one id, document, language and day.*\nWhat /,
    )
  })

  test('in two files that share no section is one revision of both parts, also where precedence lists them', async () => {
    const files = { 'a.md': beeRules(`### One {#a}\n${TEXT}\n`), 'b.md': beeRules(`### Other {#z}\n${OTHER}\n`) }
    for (const precedence of [[], ['b.md'], ['b.md', 'a.md']]) {
      const { passages, report } = await importContents(files, { ...MARKDOWN_MAPPING, precedence })
      expect(passages.map(({ text, ordinal, in_force_to }) => [text, ordinal, in_force_to])).toEqual([
        [TEXT, 0, null],
        [OTHER, 1, null],
      ])
      expect(report).toMatchObject({ skipped: 0, lost: 0, revisions: 1 })
    }
  })

  test('that comes twice with the same text is imported once, and the report names both places', async () => {
    const { passages, report } = await importContents({ 'copy.md': beeRules(RULES), 'rules.md': beeRules(RULES) })
    expect(passages.map((passage) => passage.source_id)).toEqual(['bees#a', 'bees#b'])
    expect(report).toMatchObject({ skipped: 2, lost: 0, records_read: 4, reasons: { [DUPLICATE]: 2 } })
    expect(report.entries[0]).toEqual({
      source: 'rules.md',
      line: 12,
      id: 'a',
      reason: DUPLICATE,
      other: { source: 'copy.md', line: 12, id: 'a' },
    })
    expect(renderImportReport(report)).toContain(`rules.md:12 a: ${DUPLICATE} (copy.md:12 a)`)
  })

  test('comes from the source that has precedence, whole, whichever is read first', async () => {
    for (const order of [
      { 'a.md': beeRules(DRAFT), 'b.md': beeRules(RULES) },
      { 'b.md': beeRules(RULES), 'c.md': beeRules(DRAFT) },
    ]) {
      const { passages, report } = await importContents(order, {
        ...MARKDOWN_MAPPING,
        precedence: ['b.md', 'a.md', 'c.md'],
      })
      expect(passages.map(({ source_id, text }) => [source_id, text])).toEqual([
        ['bees#a', TEXT],
        ['bees#b', 'A swarm is free.'],
      ])
      expect(report.reasons[PRECEDENCE] ?? 0).toBeGreaterThan(0)
      expect(report).toMatchObject({ lost: 0, records_read: 4, skipped: 2 })
    }
  })

  test('in two languages under one key is two texts, of which none is lost', async () => {
    const german = beeRules(`### Eins {#a}\nEin Imker meldet jeden Stock.\n`, { language: 'de' })
    const { passages, report } = await importContents({ 'a.md': beeRules(`### One {#a}\n${TEXT}\n`), 'b.md': german })
    expect(passages.map((passage) => passage.metadata.language)).toEqual(['en', 'de'])
    expect(new Set(passages.map((passage) => passage.chunk_id)).size).toBe(2)
    expect(report.lost).toBe(0)
  })
})

describe('an id that comes twice in one source', () => {
  const corpus = [
    line('s478.25', 'Replacement of stolen or lost license.', { section: '25' }),
    line('s478.25', 'State or other official.', { section: '25a' }),
    line('s478.25~2', 'An id of the publisher.', { section: '25b' }),
  ]

  test('with another text is made distinct by a number, with a warning that names both places', async () => {
    const { passages, report } = await importLines(corpus.slice(0, 2))
    expect(passages.map(({ source_id, citation }) => [source_id, citation.label])).toEqual([
      ['s478.25', 'Bees s. 25'],
      ['s478.25~2', 'Bees s. 25a'],
    ])
    expect(report).toMatchObject({
      skipped: 0,
      warnings: {
        count: 1,
        entries: [
          {
            source: 'corpus.jsonl',
            line: 2,
            id: 's478.25',
            message: 'an id is used again; this record is s478.25~2',
            other: { source: 'corpus.jsonl', line: 1, id: 's478.25' },
          },
        ],
      },
    })
    expect(renderImportReport(report)).toMatch(
      /Warnings:\n {2}corpus\.jsonl:2 s478\.25: .*s478\.25~2 \(corpus\.jsonl:1 s478\.25\)/,
    )
  })

  test('never takes an id that the publisher uses, and no two passages share a chunk_id', async () => {
    for (const order of [
      [0, 1, 2],
      [0, 2, 1],
      [2, 0, 1],
    ]) {
      const text = order.map((index) => corpus[index] ?? '').join('\n')
      const { passages } = await importLines(text)
      expect(new Set(passages.map((passage) => passage.source_id)).size).toBe(3)
      expect(new Set(passages.map((passage) => passage.chunk_id)).size).toBe(3)
      expect(passages.find((passage) => passage.text.startsWith('Replacement'))?.source_id).toBe('s478.25')
    }
  })

  test('keeps ids and chunk_ids when the unchanged source is imported again', async () => {
    const [first, again] = await Promise.all([1, 2].map(async () => await importLines(corpus)))
    expect(again?.passages).toEqual(first?.passages)
  })

  test('and in ever more records refuses the import', async () => {
    const lines = Array.from({ length: IMPORT_BOUNDS.recordsPerIdMax + 1 }, (_, n) =>
      line('a', `Rule ${n}.`, { section: n }),
    )
    await expect(importLines(lines)).rejects.toThrow(`more than ${IMPORT_BOUNDS.recordsPerIdMax} records of one id`)
  })
})

describe('a JSONL document whose records are in several files', () => {
  test('is one document, and its revision has one order', async () => {
    const { passages, report } = await importContents(
      { 'a.jsonl': line('a', TEXT), 'b.jsonl': line('b', 'A swarm is free.', { section: '2' }) },
      smallMapping(),
    )
    expect(passages.map((passage) => passage.ordinal)).toEqual([0, 1])
    expect(report).toMatchObject({ files: 2, documents: 1, revisions: 1, skipped: 0 })
  })

  test.each([
    ['one id', { section: '2' }, /a\.jsonl:1 a and b\.jsonl:1 a have one id, document, language and day/],
    ['one provision', {}, /a\.jsonl:1 a and b\.jsonl:1 b hold two texts of one provision/],
  ])('refuses another text of %s and day in another file, and names both places', async (what, metadata, sentence) => {
    const files = { 'a.jsonl': line('a', TEXT), 'b.jsonl': line(what === 'one id' ? 'a' : 'b', OTHER, metadata) }
    await expect(importContents(files, smallMapping())).rejects.toThrow(sentence)
    const { passages, report } = await importContents(files, smallMapping({}, { precedence: ['b.jsonl', 'a.jsonl'] }))
    expect(passages.map((passage) => passage.text)).toEqual([OTHER])
    expect(report).toMatchObject({
      lost: 0,
      entries: [{ source: 'a.jsonl', line: 1, reason: PRECEDENCE, other: { source: 'b.jsonl', line: 1 } }],
    })
  })

  test('refuses where the precedence lists only one of the two sources', async () => {
    const files = { 'a.jsonl': line('a', TEXT), 'b.jsonl': line('a', OTHER) }
    await expect(importContents(files, smallMapping({}, { precedence: ['b.jsonl'] }))).rejects.toThrow(
      /list the sources|list their sources/,
    )
  })

  test('names the record that differs, not one that the other file has too', async () => {
    const files = { a: line('x', TEXT), b: [line('x', TEXT), line('x', OTHER, { section: '2' })].join('\n') }
    await expect(importContents(files, smallMapping())).rejects.toThrow('a:1 x and b:2 x have one id')
  })

  test('names a bounded number of contradictions and counts the rest', async () => {
    const many = (text: string): string =>
      Array.from({ length: IMPORT_BOUNDS.importConflictsNamedMax + 5 }, (_, n) =>
        line(`r${n}`, `${text} ${n}`, { section: n }),
      ).join('\n')
    await expect(importContents({ 'a.jsonl': many(TEXT), 'b.jsonl': many(OTHER) }, smallMapping())).rejects.toThrow(
      /… and \d+ more/,
    )
  })
})
