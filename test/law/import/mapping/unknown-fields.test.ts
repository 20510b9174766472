import { describe, expect, test } from 'vitest'
import { importContents, importLines, line, smallMapping } from '#test/support/import.ts'

const TEXT = 'A keeper of bees registers every hive.'
const FRONT = `---
document: bees
title: Bee Rulebook
authority: Bee Authority
canonical_url: https://bees.example/rules
language: en
jurisdiction: gb
published_at: 2024-04-15
effective_at: 2024-07-01
verification_status: verified
`

describe('front matter', () => {
  test.each([
    ['Effective_to: 2025-01-01', 'effective_to'],
    ['repealed_at: 2025-01-01', 'effective_to'],
    ['valid_until: 2025-01-01', 'effective_to'],
    ['status: repealed', 'effective_to'],
    ['titel: Bees', 'title'],
    ['effective-to: 2025-01-01', 'effective_to'],
    ['"effective_to\u200B": 2025-01-01', 'effective_to'],
  ])(
    'with the unknown field %s refuses its file, and names its line and the nearest known field',
    async (own, nearest) => {
      const { passages, report } = await importContents({ 'a.md': `${FRONT}${own}\n---\n# One\n${TEXT}\n` })
      expect(passages).toEqual([])
      expect(report.entries).toMatchObject([{ source: 'a.md', line: 11 }])
      expect(report.entries[0]?.reason).toMatch(
        new RegExp(`is no known field of front matter; the nearest known field is ${nearest}$`),
      )
      expect(report.lost).toBe(1)
    },
  )

  test.each([
    ['effective_to: 2025-01-01T22:00:00Z', 'effective_to has a time of day'],
    ['effective_to: 2025-01-01 22:00', 'effective_to has a time of day'],
    ['effective_to: 31. Dezember 2021', 'effective_to is not a date'],
    ['effective_to: 2025-02-30', 'effective_to is not a date'],
  ])('with the date %s loses every provision of the file, at the line of the field', async (own, reason) => {
    const { passages, report } = await importContents({
      'a.md': `${FRONT}${own}\n---\n# One\n${TEXT}\n## Two\n${TEXT}\n`,
    })
    expect(passages).toEqual([])
    expect(report.entries).toMatchObject([
      { line: 11, id: 'one' },
      { line: 11, id: 'two' },
    ])
    for (const entry of report.entries) expect(entry.reason).toContain(reason)
  })
})

describe('a record of JSONL', () => {
  test.each([
    ['repealed_at', { repealed_at: '2021-01-01' }],
    ['Effective_To', { Effective_To: '2021-01-01' }],
    ['validUntil', { validUntil: '2021-01-01' }],
    ['status', { status: 'repealed' }],
    ['außer Kraft', { 'außer Kraft': '2021-01-01' }],
    ['note', { note: 'Repealed' }],
    ['dates', { dates: { ends: '2021-01-01' } }],
  ])('refuses the import where metadata states "%s", which the mapping does not read', async (name, metadata) => {
    const contents = { 'corpus.jsonl': line('a', TEXT, metadata) }
    await expect(importContents(contents, smallMapping())).rejects.toThrow('may state an end or a status')
    const ignoring = smallMapping({}, { ignored_fields: [name] })
    expect((await importContents(contents, ignoring)).passages).toHaveLength(1)
  })

  test('refuses the import where a field beside the metadata may state an end', async () => {
    const record = { ...JSON.parse(line('a', TEXT)), repealed_at: '2021-01-01' }
    const contents = { 'corpus.jsonl': JSON.stringify(record) }
    await expect(importContents(contents, smallMapping())).rejects.toThrow('"record.repealed_at"')
    const ignoring = smallMapping({}, { ignored_fields: ['record.repealed_at'] })
    expect((await importContents(contents, ignoring)).passages).toHaveLength(1)
  })

  test('lists every other field that the mapping does not read in the report, with its count', async () => {
    const contents = {
      'corpus.jsonl': [line('a', TEXT, { kind: 'rule' }), line('b', TEXT, { kind: 'x', editor: 'E' })].join('\n'),
    }
    const { report } = await importContents(contents, smallMapping({ citation_label: '{id}' }))
    expect(report.unread_fields).toEqual({ kind: 2, editor: 1, section: 2 })
  })

  test.each([
    ['{metadata.until}', { until: { day: '2021-01-01' } }, 'until is neither a plain value nor a list'],
    ['{metadata.until}', { until: '2021-01-01T10:00:00+02:00' }, 'effective_to has a time of day'],
    [{ from: '{metadata.until}', date: 'german' }, { until: '31. Dezembr 2021' }, 'effective_to is stated in a form'],
    [{ from: '{metadata.until}', date: 'german' }, { until: '31. 13. 2021' }, 'effective_to is not a date'],
    [
      { from: '{metadata.until}', match: '^\\d{4}-\\d\\d-\\d\\d$' },
      { until: '31/12/2021' },
      'effective_to is stated in',
    ],
    [{ from: '{metadata.until}', lookup: 'ends' }, { until: 'soon' }, 'effective_to is stated in a form'],
    ['{values.end}', { until: 'soon' }, 'effective_to is stated in a form'],
  ])('whose end %j does not understand is lost: %j', async (rule, metadata, reason) => {
    const mapping = smallMapping(
      { effective_to: rule },
      { tables: { ends: { never: '2999-01-01' } }, values: { end: { from: '{metadata.until}', match: '^\\d.*$' } } },
    )
    const { passages, report } = await importLines(line('a', TEXT, metadata), mapping)
    expect(passages).toEqual([])
    expect(report.entries[0]?.reason).toContain(reason)
    expect(report.lost).toBe(1)
  })

  test('ends on the day that a German date names, and is open where an alternative says so', async () => {
    const rule = [
      { from: '{metadata.until}', date: 'german' },
      { from: '{metadata.until}', match: '^open$', as: '' },
    ]
    const contents = [line('a', TEXT, { until: '31. Dezember 2021' }), line('b', TEXT, { until: 'open', section: '2' })]
    const { passages } = await importLines(contents, smallMapping({ effective_to: rule }))
    expect(passages.map(({ in_force_to }) => in_force_to)).toEqual(['2021-12-31', null])
  })
})

test('an end within an object is read by its name, and the object with it; one that no rule reads refuses', async () => {
  const record = line('a', TEXT, { validity: { to: '2021-01-01' }, until: undefined })
  const mapping = smallMapping({ effective_to: '{metadata.validity.to}' })
  const { passages, report } = await importLines(record, mapping)
  expect(passages.map(({ in_force_to }) => in_force_to)).toEqual(['2021-01-01'])
  expect(report.unread_fields).toEqual({})
  await expect(importLines(record)).rejects.toThrow(/validity/)
  const listed = line('a', TEXT, { validity: [{ to: '2021-01-01' }], until: undefined })
  await expect(importLines(listed, mapping)).rejects.toThrow(/validity/)
})
