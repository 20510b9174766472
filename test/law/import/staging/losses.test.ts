import { describe, expect, test } from 'vitest'
import { lossesInWords } from '#law/import/report/report.ts'
import { importContents, importLines, line, smallMapping } from '#test/support/import.ts'
import { beeRules } from '#test/support/markdown-source.ts'

const TEXT = 'A keeper of bees registers every hive.'

function revision(day: string, rules: readonly number[], end?: string): string {
  const body = rules.map((rule) => `### BEE 1.${rule} Rule {#r${rule}}\nText ${rule} of ${day}.\n`)
  const days = { published_at: day, effective_at: day, ...(end === undefined ? {} : { effective_to: end }) }
  return beeRules(body.join('\n'), { ...days, citation_prefix: 'BEE' })
}

describe('a loss', () => {
  test('of a record is listed with its name, and counts until the mapping accepts it', async () => {
    const contents = { 'corpus.jsonl': [line('a', TEXT), line('b', TEXT, { section: '2', effective: '' })].join('\n') }
    const { report } = await importContents(contents, smallMapping())
    const text = `Section b\n${TEXT}`
    const loss = { source: 'corpus.jsonl', line: 2, id: 'b', name: 'b', reason: 'effective_at missing', text }
    expect(report).toMatchObject({ losses_unnamed: 1, losses: [{ ...loss, accepted: false }] })
    const accepted = await importContents(contents, smallMapping({}, { accepted_losses: ['b'] }))
    expect(accepted.report).toMatchObject({ losses_unnamed: 0, losses: [{ ...loss, accepted: true }] })
  })

  test('is listed with the start of its text, as far as a database can store it', async () => {
    const unread = 'A keeper may lend a hive. '.repeat(20)
    const contents = [line('a', TEXT), line('b', `\0${unread}`), `{"text":"${unread}`].join('\n')
    const { report } = await importLines(contents)
    const texts = report.losses.map(({ text = '' }) => text)
    expect(texts.map((text) => text.length)).toEqual([300, 300])
    expect(texts.every((text) => text.includes('A keeper may lend a hive.') && !text.includes('\0'))).toBe(true)
    expect(lossesInWords(report.losses)[0]).toMatch(/^b \(contains a NUL character\): .*A keeper may lend/)
  })

  test('of a file is named by its line, and says that it is the whole file', async () => {
    const { report } = await importContents({ 'a.md': revision('2024-01-01', [1]), 'b.md': '# no front matter' })
    expect(report.losses.map(({ name, reason }) => [name, reason])).toEqual([
      ['b.md:1', 'no front matter; nothing of the file is imported'],
    ])
  })

  test('is each provision that an amendment ends without a word', async () => {
    const { report, passages } = await importContents({
      'a.md': revision('2023-01-01', [1, 2, 3, 4]),
      'b.md': revision('2024-01-01', [1, 3]),
    })
    expect(report.losses.map(({ name }) => name)).toEqual(['a.md#r2', 'a.md#r4'])
    expect(report.losses_unnamed).toBe(2)
    expect(report.derived_ends.map(({ id, day }) => [id, day])).toEqual(
      ['r1', 'r2', 'r3', 'r4'].map((id) => [id, '2024-01-01']),
    )
    expect(passages).toHaveLength(6)
  })

  test('is no provision that an amendment restates, and none whose end its source states', async () => {
    const restated = { 'a.md': revision('2023-01-01', [1, 2]), 'b.md': revision('2024-01-01', [1, 2, 3]) }
    expect((await importContents(restated)).report).toMatchObject({ losses: [], losses_unnamed: 0, ends_derived: 2 })
    const stated = { 'a.md': revision('2023-01-01', [1, 2], '2024-01-01'), 'b.md': revision('2024-01-01', [1]) }
    expect((await importContents(stated)).report).toMatchObject({ losses: [], losses_unnamed: 0, ends_derived: 0 })
  })
})
