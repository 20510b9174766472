import { describe, expect, test } from 'vitest'
import { parseMapping } from '#law/import/mapping/mapping.ts'
import { importLines, line, smallMapping } from '#test/support/import.ts'

const TEXT = 'A keeper of bees registers every hive.'

describe('a mapping', () => {
  test('takes the first alternative that resolves to something', async () => {
    const mapping = smallMapping({
      citation_label: [
        '{metadata.nickname}',
        { from: '{id}', match: '^x-(\\d+)$', as: 'Rule $1' },
        'Section {metadata.section}',
      ],
    })
    const { passages } = await importLines(
      [line('x-4', TEXT), line('y', TEXT), line('z', TEXT, { nickname: 'Bee rule' })],
      mapping,
    )
    expect(passages.map((passage) => passage.citation.label)).toEqual(['Rule 4', 'Section 1', 'Bee rule'])
  })

  test('looks up tables and reads dates as the publisher writes them', async () => {
    const mapping = smallMapping(
      {
        title: { from: '{metadata.act}', lookup: 'titles' },
        published_at: { from: '{metadata.note}', match: 'du (.+?)$', date: 'french' },
        effective_at: { from: '{metadata.stand}', match: 'v\\. ([0-9.]+)', date: 'german' },
      },
      { tables: { titles: { Bees: 'Bees Act 2020' } } },
    )
    const { passages } = await importLines(
      line('a', TEXT, { note: 'Loi du 1er août 2006', stand: 'G v. 3.6.2021 I 1' }),
      mapping,
    )
    expect(passages[0]?.document).toMatchObject({
      title: 'Bees Act 2020',
      published_at: '2006-08-01T00:00:00.000Z',
      effective_at: '2021-06-03T00:00:00.000Z',
    })
  })

  test('records each field filled by a rule in the lineage, through named values too', async () => {
    const mapping = smallMapping(
      {
        published_at: ['{metadata.gazette}', { from: '{metadata.effective}', derived: 'effective date' }],
        canonical_url: 'https://law.example/{values.slug}',
      },
      { values: { slug: { from: '{metadata.act}', match: '^(\\w)', derived: 'first letter of the act' } } },
    )
    const { passages } = await importLines(
      [line('a', TEXT), line('b', TEXT, { section: '2', gazette: '2019-12-31' })],
      mapping,
    )
    expect(passages.map((passage) => passage.lineage)).toEqual([
      { published_at: 'effective date', canonical_url: 'first letter of the act' },
      { canonical_url: 'first letter of the act' },
    ])
  })

  test('fills replacements by number and by name, and leaves out what took no part', async () => {
    const match = '^(?<kind>\\p{Lu}\\p{L}*) (\\d+)(\\w)?'
    const mapping = smallMapping({ citation_label: { from: '{metadata.note}', match, as: '$2-$<kind>-$3-$<none>-$' } })
    const { passages } = await importLines(line('a', TEXT, { note: 'Überblick 12' }), mapping)
    expect(passages[0]?.citation.label).toBe('12-Überblick---$')
  })

  test('cuts a result to whole characters', async () => {
    const mapping = smallMapping({ citation_label: { from: '{metadata.note}', match: '(🐝.*)$', characters_max: 3 } })
    const { passages } = await importLines(line('a', TEXT, { note: 'x 🐝a🐝🐝' }), mapping)
    expect(passages[0]?.citation.label).toBe('🐝a🐝')
  })

  test('ends the import where named values multiply a text without end, and says so', async () => {
    const values = Object.fromEntries(
      Array.from({ length: 9 }, (_, level) => [
        `v${level}`,
        (level === 0 ? '{text}' : `{values.v${level - 1}}`).repeat(50),
      ]),
    )
    const mapping = smallMapping({ title: '{values.v8}' }, { values })
    await expect(importLines(line('a', TEXT), mapping)).rejects.toThrow(/makes a value of more than \d+ characters/)
  })

  test('does not take a name inherited by every object for a key of a table', async () => {
    const mapping = smallMapping({ title: { from: '{metadata.act}', lookup: 'titles' } }, { tables: { titles: {} } })
    const { report } = await importLines(line('a', TEXT, { act: 'constructor' }), mapping)
    expect(report.reasons).toEqual({ 'title missing': 1 })
  })

  test('may state one date for every record, which counts as derived', async () => {
    const mapping = smallMapping({ effective_at: '2020-01-01' })
    const { passages, report } = await importLines(line('a', TEXT), mapping)
    expect(passages[0]?.in_force_from).toBe('2020-01-01')
    expect(report.derived_values).toEqual({ 'effective_at: one date for every record, which the mapping states': 1 })
  })

  test.each([
    [{ title: '{metadata}' }, {}, /uses \{metadata\}/],
    [{ title: '{values.later}' }, {}, /uses \{values\.later\}/],
    [{ title: { from: '{id}', lookup: 'nowhere' } }, {}, /not among the tables/],
    [{ title: { from: '{id}', match: '(' } }, {}, /missing closing \) at `\(`[^]*at fields\.title\.match/],
    [{ title: ['{id}', { from: '{id}', match: 'a(?!b)' }] }, {}, /`\(\?!`[^]*without lookaround[^]*title\[1\]\.match/],
    [{ title: { from: '{id}', match: '(?<=a)b' } }, {}, /`\(\?<=a\)b`[^]*without lookaround/],
    [{ title: { from: '{id}', match: '(a)\\1' } }, {}, /`\\1`[^]*back-references/],
    [{}, { skip_patterns: [{ pattern: '(?:a{400}){2}', reason: 'long' }] }, /too large[^]*skip_patterns\[0\]\.pattern/],
    [{}, { precedence: ['a', 'b', 'a'] }, /names a source twice[^]*precedence/],
    [{ nonsense: '{id}' }, {}, /nonsense/],
    [{}, { values: { a: '{values.b}', b: '{id}' } }, /uses \{values\.b\}/],
  ])('with a fault is refused, and the fault named: %j %j', (fields, rest, message) => {
    expect(() => smallMapping(fields, rest)).toThrow(message)
  })

  test('names all its faults at once', () => {
    expect(() => parseMapping({ format: 'csv', fields: {} })).toThrow(/format[\s\S]*document_key/)
  })
})
