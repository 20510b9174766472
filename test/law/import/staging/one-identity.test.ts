import { describe, expect, test } from 'vitest'
import { IMPORT_BOUNDS } from '#law/import/bounds.ts'
import { SourcesContradict } from '#law/import/report/findings.ts'
import { MARKDOWN_MAPPING } from '#law/import/mapping/mapping.ts'
import { importContents, line, smallMapping } from '#test/support/import.ts'
import { beeRules } from '#test/support/markdown-source.ts'

const MUST = 'The keeper must act.'
const NEED_NOT = 'The keeper need not act.'

type Front = Readonly<Record<string, string>>

const page = (text: string, front: Front = {}): string =>
  beeRules(`# COB-M 2.1 Duty {#duty}\n${text}\n`, { citation_prefix: 'COB-M', ...front })

describe('two texts that are in force at one time refuse the import, and both places are named', () => {
  const copies: readonly { readonly what: string; readonly front: Front; readonly own?: Front }[] = [
    { what: 'a document in capitals', front: { document: 'BEES' } },
    { what: 'a document with another dash', front: { document: 'bees\u2011' }, own: { document: 'bees-' } },
    { what: 'a document with an invisible character', front: { document: 'be\u200Bes' } },
    { what: 'a document in full width', front: { document: 'ｂｅｅｓ' } },
    { what: 'another region of the language', front: { language: 'en-GB' } },
    { what: 'the script of the language', front: { language: 'en-Latn' } },
    { what: 'the jurisdiction in another dash', front: { jurisdiction: 'HS\u2011M' }, own: { jurisdiction: 'HS-M' } },
    { what: 'another document with the same citation', front: { document: 'bees-copy' } },
    { what: 'another document that begins later', front: { document: 'bees-copy', effective_at: '2024-08-01' } },
    {
      what: 'another document with the same address',
      front: { document: 'bees-copy', citation_prefix: 'COB-X', title: 'Copy' },
    },
  ]
  test.each(copies)('where a copy has $what', async ({ front, own = {} }) => {
    const files = { 'a.md': page(MUST, own), 'b.md': page(NEED_NOT, { ...own, ...front }) }
    await expect(importContents(files)).rejects.toThrow(/\n {2}a\.md:\d+ duty and b\.md:\d+ duty /)
  })

  test.each([
    ['\u00A7 5-1', '\u00A7 5\u20111'],
    ['\u00A7 5-1', '\u00A75-1'],
    ['\u00A7 5-1', '\u00A7 5 \u2013 1'],
    ['\u00A7 5-1', '\u00A7\u00A05\u00AD-1'],
    ['Rule 5', 'RULE  5'],
    ['Rule 5', 'Rule\u200B 5.'],
  ])('where "%s" is also written "%s"', async (section, again) => {
    for (const revises of ['document', 'provision'] as const) {
      const lines = [line('a', MUST, { section }), line('b', NEED_NOT, { section: again })]
      await expect(
        importContents({ c: lines.join('\n') }, smallMapping({ citation_label: '{metadata.section}' }, { revises })),
      ).rejects.toThrow('c:1 a and c:2 b have one citation at one time, but different texts')
    }
  })

  test('where a heading of a file comes twice under the same headings, and not where the texts are equal', async () => {
    const twice = (text: string): string => beeRules(`# Part\n## Duty\n${MUST}\n## DUTY\n${text}\n`)
    await expect(importContents({ 'a.md': twice(NEED_NOT) })).rejects.toThrow(/a\.md:\d+ duty and a\.md:\d+ duty-2/)
    expect((await importContents({ 'a.md': twice(MUST) })).passages).toHaveLength(2)
  })

  test('and not where both have the same text', async () => {
    for (const front of [{ document: 'BEES' }, { document: 'bees-copy' }])
      await expect(importContents({ 'a.md': page(MUST), 'b.md': page(MUST, front) })).resolves.toBeDefined()
  })

  test('and not where chapters have headings with the same words', async () => {
    const { passages } = await importContents({
      'a.md': beeRules(`# One\n## Scope\n${MUST}\n# Two\n## Scope\n${NEED_NOT}\n`),
    })
    expect(new Set(passages.map(({ provision }) => provision)).size).toBe(2)
  })

  test('and not where the first has ended, is of another jurisdiction or script, or is not served', async () => {
    for (const front of [
      { effective_at: '2025-01-01' },
      { jurisdiction: 'ie' },
      { language: 'de' },
      { verification_status: 'provisional' },
    ])
      expect((await importContents({ 'a.md': page(MUST), 'b.md': page(NEED_NOT, front) })).passages).toHaveLength(2)
  })
})

describe('a name that two acts claim', () => {
  const rulebook = (code: string, front: Front = {}): string =>
    beeRules(`# ${code} 2.1 Duty\nRule of ${code}.\n`, { document: code, title: code, citation_prefix: code, ...front })

  test.each([
    ['as it is written', '[COB-F, COB-M]', {}],
    ['in small letters', '[COB-F, cob-m]', {}],
    ['with another dash', '[COB-F, COB\u2011M]', {}],
    ['without a dash', '[COB-F, COB M]', {}],
    ['where the other act has it only in its id', '[COB-F, COB-M]', { aliases: '[Mainland Conduct]' }],
    ['where it is the id of the other act', '["rulebook:cob-m"]', {}],
  ] as const)('refuses the import %s, and both places are named', async (_what, aliases, other) => {
    const files = { 'f.md': rulebook('COB-F', { aliases }), 'm.md': rulebook('COB-M', other) }
    await expect(importContents(files)).rejects.toThrow(
      /f\.md:\d+ \S+ and m\.md:\d+ \S+ give the name "[^"]+" to two acts, rulebook:cob-f and rulebook:cob-m/,
    )
  })

  test('refuses a built-in name of an act that the corpus holds', async () => {
    const gdpr = line('a', MUST, { act: 'Gdpr', id: 'celex:32016R0679' })
    const other = line('b', NEED_NOT, { act: 'Bees', id: 'rulebook:bees', names: 'RGPD' })
    const mapping = smallMapping({ act: '{metadata.id}', aliases: '{metadata.names}' })
    await expect(importContents({ c: [gdpr, other].join('\n') }, mapping)).rejects.toThrow(
      'give the name "RGPD" to two acts',
    )
    expect((await importContents({ c: other }, mapping)).report.acts).toHaveLength(1)
  })

  test('is no contradiction where each act has its own, or several documents are of one act', async () => {
    const files = {
      'f.md': rulebook('COB-F', { aliases: '[COB-F, Harbour Conduct]' }),
      'm.md': rulebook('COB-M'),
      'n.md': rulebook('COB-M', { document: 'appendix', citation_prefix: 'COB-MA', act: 'rulebook:cob-m' }),
    }
    expect((await importContents(files)).report.acts).toHaveLength(2)
  })
})

describe('labels that the publisher repeats', () => {
  const three = [MUST, NEED_NOT, 'The keeper may act.'].map((text, n) => line(`r${n}`, text))
  const confirming = (repeated_labels: Readonly<Record<string, number>>): ReturnType<typeof smallMapping> =>
    smallMapping({}, { revises: 'document', repeated_labels })

  test('are listed to confirm, with the number of texts that are in force at one time', async () => {
    const refused = importContents({ c: three.join('\n') }, confirming({}))
    await expect(refused).rejects.toThrow('To confirm: "repeated_labels": {"Bees s. 1":3}')
    await expect(refused).rejects.toThrow(SourcesContradict)
    await expect(refused).rejects.toMatchObject({ repeatedLabels: { 'Bees s. 1': 3 } })
  })

  test('are confirmed by name and number in any spelling of the name; each is named in the report', async () => {
    const { passages, report } = await importContents({ c: three.join('\n') }, confirming({ 'BEES S.1': 3 }))
    expect(new Set(passages.map(({ provision }) => provision)).size).toBe(3)
    expect(report.warnings.entries).toEqual([
      {
        source: 'c',
        line: 2,
        id: 'r1',
        message: '3 texts have one citation at one time, as "repeated_labels" confirms: "Bees s. 1"',
        other: { source: 'c', line: 1, id: 'r0' },
      },
    ])
    for (const other of [{ 'Bees s. 1': 2 }, { 'Bees s. 2': 3 }, { '*': 3 }])
      await expect(importContents({ c: three.join('\n') }, confirming(other))).rejects.toThrow('one citation')
  })

  test('are confirmed for Markdown by a mapping that holds nothing else', async () => {
    const body = `# COB-M 2.1 Duty\n${MUST}\n# COB-M 2.1 Duty\n${NEED_NOT}\n`
    const files = { 'a.md': beeRules(body, { citation_prefix: 'COB-M' }) }
    const { passages } = await importContents(files, { ...MARKDOWN_MAPPING, repeated_labels: { 'COB-M 2.1': 2 } })
    expect(passages).toHaveLength(2)
  })

  test('are named in bounded number in the sentence, and listed in full beside it', async () => {
    const lines = Array.from({ length: 2 * IMPORT_BOUNDS.importConflictsNamedMax }, (_, n) =>
      [MUST, NEED_NOT].map((text, which) => line(`r${n}-${which}`, text, { section: `${n}` })),
    ).flat()
    const error: unknown = await importContents({ c: lines.join('\n') }, confirming({})).catch(
      (cause: unknown) => cause,
    )
    expect(error).toBeInstanceOf(SourcesContradict)
    if (!(error instanceof SourcesContradict)) return
    expect(error.message).toMatch(/… and \d+ more[\s\S]* and 20 more, which the output lists$/)
    expect(Object.keys(error.repeatedLabels)).toHaveLength(2 * IMPORT_BOUNDS.importConflictsNamedMax)
  })
})

describe('a revision that is not served, or is of another jurisdiction', () => {
  const old = line('old', MUST, { effective: '2020-01-01' })
  const next = (metadata: Readonly<Record<string, unknown>>): string =>
    line('next', NEED_NOT, { effective: '2021-01-01', ...metadata })

  test.each([
    ['provisional', { status: 'provisional' }],
    ['withdrawn', { status: 'withdrawn' }],
    ['of another jurisdiction', { place: 'ie' }],
  ])('ends no text: %s', async (_what, metadata) => {
    for (const revises of ['document', 'provision', undefined] as const) {
      const { passages, report } = await importContents(
        { c: [line('old', MUST, { effective: '2020-01-01', status: 'verified' }), next({ ...metadata })].join('\n') },
        smallMapping({ verification_status: ['{metadata.status}', 'source-declared'] }, { revises }),
      )
      expect(passages.map(({ in_force_to }) => in_force_to)).toEqual([null, null])
      expect(report.ends_derived).toBe(0)
    }
  })

  test('while one that is served ends it', async () => {
    const { passages } = await importContents({ c: [old, next({})].join('\n') }, smallMapping())
    expect(passages.map(({ in_force_to }) => in_force_to)).toEqual(['2021-01-01', null])
  })
})
