import { describe, expect, test } from 'vitest'
import { IMPORT_BOUNDS } from '#law/import/bounds.ts'
import { renderImportReport } from '#law/import/report/report.ts'
import { importLines, line } from '#test/support/import.ts'

const TEXT = 'A keeper of bees registers every hive.'

describe('an import report', () => {
  test('keeps a bounded number of entries and counts the rest', async () => {
    const bad = 'not json\n'.repeat(IMPORT_BOUNDS.reportEntriesMax + 5)
    const { report } = await importLines(`${bad}${line('a', TEXT)}`)
    expect(report.entries).toHaveLength(IMPORT_BOUNDS.reportEntriesMax)
    expect(report).toMatchObject({
      skipped: IMPORT_BOUNDS.reportEntriesMax + 5,
      entries_omitted: 5,
      passages: 1,
      reasons: { 'not valid JSON': IMPORT_BOUNDS.reportEntriesMax + 5 },
    })
  })

  test('names every split record by source, line and id, and how many passages it became', async () => {
    const long = Array.from(
      { length: 9 },
      (_, n) => `Paragraph ${n}. ${'The keeper counts each hive. '.repeat(35)}`,
    ).join('\n\n')
    const { report } = await importLines([line('a', TEXT), line('b', long, { section: '2' }), line('c', TEXT)])
    const parts = report.passages - 2
    expect(parts).toBeGreaterThan(1)
    expect(report).toMatchObject({ split: 1, splits: [{ source: 'corpus.jsonl', line: 2, id: 'b', parts }] })
    expect(renderImportReport(report)).toContain(`Split:\n  corpus.jsonl:2 b: ${parts} passages\n`)
  })

  test('names the facets it found, sorted', async () => {
    const lines = [
      line('a', TEXT, { lang: 'fr', place: 'fr' }),
      line('b', TEXT, { subjects: 'zoology,apiculture' }),
      line('c', TEXT, { lang: 'de', place: 'AT' }),
    ]
    const { report } = await importLines(lines)
    expect(report.facets).toEqual({
      languages: ['de', 'en-GB', 'fr'],
      jurisdictions: ['AT', 'FR', 'GB'],
      subjects: ['apiculture', 'food', 'zoology'],
      statuses: ['verified'],
    })
  })

  test('refuses a mapping that makes a facet of something that is none', async () => {
    const lines = Array.from({ length: IMPORT_BOUNDS.facetValuesMax + 1 }, (_, index) =>
      line(`r${index}`, TEXT, { subjects: `s${index}` }),
    )
    await expect(importLines(lines)).rejects.toThrow(/subjects: map them to fewer/)
  })

  test('shows counts, reasons and the first entries on a terminal, without control characters', async () => {
    const lines = [line('a', TEXT), ...Array.from({ length: 25 }, (_, index) => line(`\u001b[31m${index}`, ' '))]
    const { report } = await importLines(lines)
    const shown = renderImportReport(report)
    expect(shown).toMatch(/ 1 {2}passages\n/)
    expect(shown).toMatch(/25 {4}text is blank\n/)
    expect(shown).toContain('corpus.jsonl:2  [31m0: text is blank')
    expect(shown).toContain('… and 22 more of this file for this reason; --json lists them')
    expect(shown.split('\n').filter((each) => each.includes('corpus.jsonl:'))).toHaveLength(3)
    expect(shown).not.toContain('\u001b')
  })

  test('shows the name of a loss whole, because it is accepted by it', async () => {
    const id = 'a'.repeat(200)
    const { report } = await importLines([line('a', TEXT), line(id, ' ')])
    expect(renderImportReport(report)).toContain(`not accepted as ${id}\n`)
  })
})
