import { describe, expect, test } from 'vitest'
import { IMPORT_BOUNDS } from '#law/import/bounds.ts'
import { actIdOf, aliasesOf, createNameCheck } from '#law/import/passage/references.ts'
import { importLines, line, smallMapping, type Imported } from '#test/support/import.ts'

const TEXT = 'A keeper of bees registers every hive.'
/** Of several passages. */
const LONG = Array.from({ length: 9 }, (_, n) => `Paragraph ${n}. ${'The keeper counts each hive. '.repeat(35)}`).join(
  '\n\n',
)
const GDPR = { act: 'celex:{metadata.celex}', aliases: '{metadata.short}', reference: '{metadata.cited}' }

async function imported(records: readonly string[], fields: Readonly<Record<string, unknown>>): Promise<Imported> {
  return importLines(records, smallMapping(fields))
}

describe('the references of a passage', () => {
  test('are read from the mapping, in the words of the act that it states', async () => {
    const { passages, report } = await imported(
      [
        line('a', TEXT, { celex: '32016R0679', short: 'Data Rules, DR', cited: 'Article 6(1)(f) DR' }),
        line('b', TEXT, { celex: '32016R0679', short: 'Data Rules, DR', cited: 'Article 7(2)' }),
        line('c', TEXT, { celex: '32016R0679', short: 'Data Rules, DR' }),
      ],
      GDPR,
    )
    expect(passages.map(({ references }) => references)).toEqual([
      ['celex:32016R0679#6/1/f'],
      ['celex:32016R0679#7/2'],
      ['celex:32016R0679'],
    ])
    expect(report).toMatchObject({ referenced: 2, acts: [{ id: 'celex:32016R0679', aliases: ['DR', 'Data Rules'] }] })
  })

  test.each([
    ['12 CFR 1003.2(g)(1)', 'cfr:12/1003#2/g/1'],
    ['Solvency II Article 28', 'name:solvency-ii#28'],
  ])('are of the label where the record states no act, in the form that questions use: %s', async (label, form) => {
    const { passages } = await imported([line('a', TEXT)], { citation_label: label })
    expect(passages[0]?.references).toEqual([form])
  })

  test('are none where neither names a provision', async () => {
    const { passages, report } = await imported([line('a', TEXT)], { citation_label: 'A note on bees' })
    expect(passages[0]?.references).toEqual([])
    expect(report).toMatchObject({ referenced: 0, acts: [] })
  })

  test('are not those of another act than its own', async () => {
    const { passages } = await imported(
      [line('a', TEXT, { celex: '32016R0679', short: 'DR', cited: '12 CFR 1003.2(g)' })],
      GDPR,
    )
    expect(passages[0]?.references).toEqual(['celex:32016R0679'])
  })

  test('that no question can name are warned of, by name', async () => {
    const cited = (id: string, reference: string): string =>
      line(id, TEXT, { celex: '32016R0679', short: 'DR', cited: reference })
    const { passages, report } = await imported(
      [cited('a', '12 CFR 1003.2(g)'), cited('b', 'Article 6'), cited('c', 'preamble'), cited('d', 'recital 26')],
      GDPR,
    )
    expect(passages.map(({ references }) => references)).toEqual([
      ['celex:32016R0679'],
      ['celex:32016R0679#6'],
      ['celex:32016R0679'],
      ['celex:32016R0679#recital-26'],
    ])
    expect(report.warnings.entries.map(({ id, message }) => [id, message])).toEqual([
      ['a', 'no question can name it: "12 CFR 1003.2(g)" names no provision of its act'],
      ['c', 'no question can name it: "preamble" names no provision of its act'],
    ])
  })

  test('can be asked for where a question by label or by act names the provision', () => {
    const reasonOf = createNameCheck()
    const record = (name: string, reference: string): Parameters<typeof reasonOf>[0] => {
      const act = { id: 'rulebook:bees', aliases: [name] }
      return { act, label: `${name}, ${reference}`, reference, references: ['rulebook:bees#301'] }
    }
    expect(reasonOf(record('Bee Act', '§ 301'))).toBeUndefined()
    expect(reasonOf(record('/us/bees', '§ 301'))).toBe('no question can name it: "§ 301" names no provision of its act')
    const first = (reference: string) => ({ ...record('Bee Act', reference), references: ['rulebook:bees#1'] })
    expect(reasonOf(first('section 1'))).toBeUndefined()
    expect(reasonOf(first('section I'))).toContain(
      '"section I" and the same number written otherwise are two provisions',
    )
  })

  test('are those of all parts of a text that is cut', async () => {
    const { passages } = await imported([line('a', LONG)], { citation_label: '12 CFR 1003.2' })
    expect(passages.length).toBeGreaterThan(1)
    for (const { references } of passages) expect(references).toEqual(['cfr:12/1003#2'])
  })
})

describe('the act of a record', () => {
  test.each([
    [
      'no scheme',
      { celex: 'x' },
      { act: '{metadata.celex}' },
      'act is not an act id (scheme:name, as in celex:32016R0679)',
    ],
    [
      'a mark of paths in it',
      { celex: 'a#b' },
      { act: 'x:{metadata.celex}' },
      'act is not an act id (scheme:name, as in celex:32016R0679)',
    ],
    ['aliases alone', {}, { aliases: 'DR' }, 'aliases without an act'],
    [
      'a long alias',
      { celex: 'x', short: 'a'.repeat(IMPORT_BOUNDS.aliasCharactersMax + 1) },
      GDPR,
      `aliases longer than ${IMPORT_BOUNDS.aliasCharactersMax} characters`,
    ],
    [
      'many aliases',
      { celex: 'x', short: Array.from({ length: IMPORT_BOUNDS.aliasesPerActMax + 1 }, (_, n) => `a${n}`) },
      GDPR,
      `more than ${IMPORT_BOUNDS.aliasesPerActMax} aliases`,
    ],
  ])('with %s is refused in one sentence', async (_what, metadata, fields, reason) => {
    const { passages, report } = await imported([line('a', TEXT, metadata)], fields)
    expect(passages).toEqual([])
    expect(report.reasons).toEqual({ [reason]: 1 })
  })

  test('with ever new aliases stops the import: the mapping makes an alias of something that is none', async () => {
    const records = Array.from({ length: IMPORT_BOUNDS.aliasesPerActMax + 1 }, (_, n) =>
      line(`r${n}`, TEXT, { celex: 'x', short: `a${n}` }),
    )
    await expect(imported(records, GDPR)).rejects.toThrow(
      `more than ${IMPORT_BOUNDS.aliasesPerActMax} aliases of celex:x: map them to fewer`,
    )
  })

  test('has one form, however the code of a rulebook is written', () => {
    expect(
      ['rulebook:AML', 'rulebook:aml', 'Rulebook:AML', 'rulebook:Fees Rules', 'celex:32016R0679', 'celex', 'x:a b'].map(
        actIdOf,
      ),
    ).toEqual([
      'rulebook:aml',
      'rulebook:aml',
      'rulebook:aml',
      'rulebook:fees-rules',
      'celex:32016R0679',
      undefined,
      undefined,
    ])
    expect(aliasesOf(' b, a ,,b')).toEqual(['a', 'b'])
  })
})

describe('what looks like something else', () => {
  test.each([
    [
      'a word of two scripts in a label',
      { citation_label: 'Аrticle 6' },
      TEXT,
      'citation_label has a word with letters of two scripts',
    ],
    [
      'an override of direction in a label',
      { citation_label: 'Rule \u202e21' },
      TEXT,
      'citation_label has a character that does not show (U+202e)',
    ],
    [
      'a joiner within a word of a title',
      { title: 'Be\u200des' },
      TEXT,
      'title has a character that does not show (U+200d)',
    ],
    [
      'an override of direction in a text',
      {},
      `${TEXT} \u202een\u202c`,
      'text has a character that does not show (U+202e)',
    ],
    [
      'a space without width within a word',
      {},
      'A keeper for\u200bbids it.',
      'text has a character that does not show (U+200b)',
    ],
  ])('is refused: %s', async (_what, fields, text, reason) => {
    const { passages, report } = await imported([line('a', text)], fields)
    expect([passages.length, report.reasons]).toEqual([0, { [reason]: 1 }])
  })

  test.each([
    ['a language that needs such characters', { language: 'fa' }, 'می\u200cخواهم'],
    ['a soft hyphen, and a mark before a number', {}, 'A kee\u00adper, Rule \u200e6.'],
    ['a Greek letter beside Latin words', { citation_label: 'Rule β-6' }, TEXT],
  ])('is allowed: %s', async (_what, fields, text) => {
    expect((await imported([line('a', text)], fields)).passages).toHaveLength(1)
  })
})

describe('the key of a provision', () => {
  const at = (id: string, effective: string, more: object = {}): string => line(id, TEXT, { effective, ...more })

  test('is the same in every revision of its document, and another for every provision and document', async () => {
    const { passages } = await imported(
      [
        at('1@a', '2020-01-01', { section: '1' }),
        at('1@b', '2021-01-01', { section: '1' }),
        at('2@a', '2020-01-01', { section: '2' }),
        at('x@a', '2020-01-01', { section: '1', act: 'Wasps' }),
      ],
      {},
    )
    const [first, later, other, elsewhere] = passages.map(({ provision }) => provision)
    expect(later).toBe(first)
    expect(new Set([first, other, elsewhere]).size).toBe(3)
  })

  test('comes once in a revision, also where two records are called the same', async () => {
    const { passages } = await imported(
      [at('1', '2020-01-01'), at('2', '2020-01-01'), at('3', '2021-01-01'), at('4', '2021-01-01')],
      {},
    )
    const [first, second, third, fourth] = passages.map(({ provision }) => provision)
    expect(second).not.toBe(first)
    expect([third, fourth]).toEqual([first, second])
  })

  test('tells the parts of a text that is cut apart', async () => {
    const { passages } = await imported([line('a', LONG), line('b', `${LONG}!`, { effective: '2021-01-01' })], {})
    const parts = passages.length / 2
    expect(new Set(passages.map(({ provision }) => provision)).size).toBe(parts)
    expect(passages.slice(parts).map(({ provision }) => provision)).toEqual(
      passages.slice(0, parts).map(({ provision }) => provision),
    )
  })

  test('follows the rule of the mapping where there is one', async () => {
    const { passages } = await imported(
      [at('1@2020', '2020-01-01', { section: 'old' }), at('1@2021', '2021-01-01', { section: 'new' })],
      { provision: { from: '{id}', match: '^([^@]+)@' } },
    )
    expect(new Set(passages.map(({ provision }) => provision)).size).toBe(1)
  })
})
