import { describe, expect, test } from 'vitest'
import { REVERSED_DATES } from '#law/import/passage/fields.ts'
import { importContents, importLines, line, smallMapping, type Imported } from '#test/support/import.ts'
import { beeRules } from '#test/support/markdown-source.ts'

const TEXT = 'A keeper of bees registers every hive.'

function record(id: string, effective: string, metadata: Readonly<Record<string, unknown>> = {}): string {
  return line(id, `${TEXT} (${id})`, { effective, ...metadata })
}

async function imported(
  lines: readonly string[],
  revises?: 'document' | 'provision',
  confirmed: Readonly<Record<string, number>> = {},
): Promise<Imported> {
  return await importLines(lines, smallMapping({}, { revises, repeated_labels: confirmed }))
}

function days({ passages }: Imported): readonly (readonly [string, string, string | null, string])[] {
  return passages.map(({ source_id, in_force_from, in_force_to, lineage }) => [
    source_id,
    in_force_from,
    in_force_to,
    lineage['effective_to'] ?? 'stated',
  ])
}

const BY_PROVISION = 'day on which the next revision of the provision takes effect'
const BY_DOCUMENT = 'day on which the next revision of the document takes effect'

describe('the end of a revision', () => {
  const overlapping = [
    record('1@2020', '2020-01-01'),
    record('2@2020', '2020-01-01', { section: '2' }),
    record('1@2021', '2021-01-01'),
    record('1@2022', '2022-01-01', { until: '2030-01-01' }),
  ]

  test('is the day its successor takes effect, for each provision, and is marked as derived', async () => {
    const result = await imported(overlapping, 'provision')
    expect(days(result)).toEqual([
      ['1@2020', '2020-01-01', '2021-01-01', BY_PROVISION],
      ['2@2020', '2020-01-01', null, 'stated'],
      ['1@2021', '2021-01-01', '2022-01-01', BY_PROVISION],
      ['1@2022', '2022-01-01', '2030-01-01', 'stated'],
    ])
    expect(result.report).toMatchObject({ ends_derived: 2, revisions: 4 })
  })

  test('is the same for the whole document where a revision replaces the document', async () => {
    expect(days(await imported(overlapping, 'document'))).toEqual([
      ['1@2020', '2020-01-01', '2021-01-01', BY_DOCUMENT],
      ['2@2020', '2020-01-01', '2021-01-01', BY_DOCUMENT],
      ['1@2021', '2021-01-01', '2022-01-01', BY_DOCUMENT],
      ['1@2022', '2022-01-01', '2030-01-01', 'stated'],
    ])
  })

  test('never leaves two texts of one provision in force on one day, whatever ends are stated', async () => {
    const ends = ['', '2020-06-01', '2021-01-01', '2021-06-01', '2029-01-01']
    for (const until of ends) {
      const { passages } = await imported(
        [record('a', '2020-01-01', { until }), record('b', '2021-01-01')],
        'provision',
      )
      const [old, current] = passages
      expect(old?.in_force_to === null || (old?.in_force_to ?? '') > (current?.in_force_from ?? '')).toBe(false)
      expect(old?.in_force_to).toBe(until === '2020-06-01' ? until : '2021-01-01')
    }
  })

  test('changes no chunk_id, depends on the language, and not on the order of the lines', async () => {
    const lines = [record('a', '2020-01-01'), record('b', '2021-01-01'), record('c', '2022-01-01', { lang: 'fr' })]
    const [forward, backward, alone] = await Promise.all([
      imported(lines, 'document'),
      imported(lines.toReversed(), 'document'),
      imported(lines.slice(0, 1), 'document'),
    ])
    expect(days(forward)).toEqual(days(backward).toReversed())
    expect(days(forward)[1]).toEqual(['b', '2021-01-01', null, 'stated'])
    expect(forward.passages[0]?.chunk_id).toBe(alone.passages[0]?.chunk_id)
    expect(forward.passages[0]?.provision).toBe(alone.passages[0]?.provision)
  })

  test('is of the Markdown document: a file of a later day ends the open one before it', async () => {
    const file = (day: string, body: string): string =>
      beeRules(body, { published_at: '2019-01-01', effective_at: day })
    const result = await importContents({
      'a.md': file('2020-01-01', `# One {#a}\n${TEXT}\n# Two {#b}\nA swarm is free.\n`),
      'b.md': file('2021-01-01', `# One {#a}\n${TEXT}\n`),
    })
    expect(days(result)).toEqual([
      ['bees#a', '2020-01-01', '2021-01-01', BY_DOCUMENT],
      ['bees#b', '2020-01-01', '2021-01-01', BY_DOCUMENT],
      ['bees#a', '2021-01-01', null, 'stated'],
    ])
  })

  test('is not guessed: without "revises" overlapping revisions refuse, and disjoint ones do not', async () => {
    await expect(imported(overlapping)).rejects.toThrow(
      /corpus\.jsonl:1 1@2020 and corpus\.jsonl:3 1@2021 hold revisions of one document .*\n[\s\S]*"revises"/,
    )
    const disjoint = [record('a', '2020-01-01', { until: '2021-01-01' }), record('b', '2021-01-01')]
    expect(days(await imported(disjoint))).toHaveLength(2)
  })
})

describe('contradictory dates', () => {
  test('two texts of one provision that take effect on one day refuse, and both places are named', async () => {
    const lines = [record('a', '2020-01-01', { until: '2025-01-01' }), record('b', '2020-01-01')]
    await expect(imported(lines, 'provision')).rejects.toThrow(
      /corpus\.jsonl:1 a and corpus\.jsonl:2 b hold two texts of one provision that take effect on one day/,
    )
  })

  test('two records of one provision and revision are parts of it where the mapping confirms their label', async () => {
    const lines = [record('a', '2020-01-01'), record('b', '2020-01-01')]
    await expect(imported(lines, 'provision')).rejects.toThrow('"repeated_labels": {"Bees s. 1":2}')
    const { passages } = await imported(lines, 'provision', { 'bees  s.\u00a01': 2 })
    expect(new Set(passages.map((passage) => passage.provision)).size).toBe(2)
  })

  test('a start after the stated end refuses and names the place, unless the mapping skips such records', async () => {
    const files = {
      'corpus.jsonl': [record('a', '2020-01-01'), record('b', '2021-01-01', { until: '2020-06-01' })].join('\n'),
    }
    await expect(importContents(files, smallMapping())).rejects.toThrow(`corpus.jsonl:2 b: ${REVERSED_DATES}`)
    const { report, passages } = await importContents(files, smallMapping({}, { reversed_dates: 'skip' }))
    expect(passages).toHaveLength(1)
    expect(report).toMatchObject({ lost: 1, reasons: { [REVERSED_DATES]: 1 } })
  })
})

test('document, language, provision and first day name one passage, whatever comes twice', async () => {
  const lines = [
    record('a', '2020-01-01'),
    record('b', '2020-01-01'),
    record('a', '2021-01-01'),
    record('c', '2021-01-01', { lang: 'fr' }),
    line('d', 'The keeper counts each hive. '.repeat(300), { effective: '2021-01-01' }),
  ]
  const { passages } = await imported(lines, 'provision', { 'Bees s. 1': 3 })
  const keys = passages.map(({ document, metadata, provision, in_force_from }) =>
    [document.id, metadata.language, provision, in_force_from].join(' '),
  )
  expect(passages.length).toBeGreaterThan(lines.length)
  expect(new Set(keys).size).toBe(passages.length)
})
