import { describe, expect, test } from 'vitest'
import { isQuoteVerified } from '#law/import/passage/quote-verification.ts'
import { partsOf } from '#law/import/parts/parts.ts'
import { importContents, line, smallMapping } from '#test/support/import.ts'
import { beeRules } from '#test/support/markdown-source.ts'

const MUST = 'A keeper of "bees" must register every hive – in Zürich\u00A0too.'

describe('a mapping that says "verified"', () => {
  test('declares no more than one that says "source-declared"', async () => {
    const importedAs = async (status: string): Promise<unknown> =>
      (await importContents({ c: line('a', MUST) }, smallMapping({ verification_status: status }))).passages
    expect(await importedAs('verified')).toEqual(await importedAs('source-declared'))
  })
})

describe('a passage', () => {
  test.each([
    ['verified', 'verified'],
    ['source-declared', 'verified'],
    ['provisional', 'provisional'],
    ['withdrawn', 'withdrawn'],
  ])('whose source says %s is %s once its text was found again', async (stated, shown) => {
    const mapping = smallMapping({ verification_status: '{metadata.status}' })
    const jsonl = await importContents({ c: line('a', MUST, { status: stated }) }, mapping)
    const body = `# One\n${MUST} <!-- a note -->\nIt stays so.\n`
    const markdown = await importContents({ 'a.md': beeRules(body, { verification_status: stated }) })
    for (const { passages, report } of [jsonl, markdown]) {
      expect(passages.map(({ metadata }) => metadata.verification_status)).toEqual([shown])
      expect(report.facets.statuses).toEqual([shown])
      expect(report.losses_unnamed).toBe(0)
    }
  })

  test('is verified however JSON writes its text', async () => {
    const escaped = JSON.stringify(MUST).replaceAll(/[^ -~]/g, (letter) => {
      return `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`
    })
    const record = line('a', 'TEXT').replace('"TEXT"', escaped.replaceAll('b', '\\u0062'))
    const { passages } = await importContents({ c: record }, smallMapping())
    expect(passages).toMatchObject([{ text: MUST, metadata: { verification_status: 'verified' } }])
  })
})

describe('a text', () => {
  const list = `No keeper may do any of these:\n${Array.from({ length: 90 }, (_, at) => `(${at + 1}) ${'sell honey '.repeat(9)}`).join('\n')}`

  test('is found again with the lead-ins of its parts', () => {
    const parts = partsOf(list, 'en', 4_000)
    expect(parts.some(({ leadIn }) => leadIn === 'repeated')).toBe(true)
    const captured = { format: 'markdown', text: list } as const
    expect(isQuoteVerified({ captured, text: list }, parts)).toBe(true)
    const altered = parts.map((part) => ({ ...part, text: part.text.replace('No keeper may', 'A keeper may') }))
    expect(isQuoteVerified({ captured, text: list }, altered)).toBe(false)
  })

  test.each(['markdown', 'jsonl'] as const)('of %s is not found again where a word differs', (format) => {
    const parts = partsOf(MUST, 'en', 4_000)
    const read = (text: string): boolean => isQuoteVerified({ captured: { format, text }, text: MUST }, parts)
    const written = format === 'jsonl' ? line('a', MUST) : MUST
    expect(read(written)).toBe(true)
    expect(read(written.replace('must', 'need not'))).toBe(false)
    expect(read(written.replace('must', ''))).toBe(false)
  })
})

describe('a value that no source states', () => {
  test('is in the report with its rule, also a publication that is a date of the time in force', async () => {
    const stated = { published_at: '{metadata.published}', effective_at: '{metadata.effective}' }
    const record = line('a', MUST, { published: '2024-01-02', effective: '2024-03-01' })
    const derivedBy = async (fields: object): Promise<unknown> =>
      (await importContents({ c: record }, smallMapping({ ...stated, ...fields }))).report.derived_values
    expect(await derivedBy({})).toEqual({})
    expect(await derivedBy({ published_at: ['{metadata.absent}', '{metadata.effective}'] })).toEqual({
      'published_at: the date that the mapping takes for the time in force': 1,
    })
    expect(await derivedBy({ published_at: { from: '{metadata.effective}', derived: 'its gazette is lost' } })).toEqual(
      { 'published_at: its gazette is lost': 1 },
    )
  })
})
