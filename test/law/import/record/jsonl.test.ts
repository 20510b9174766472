import { describe, expect, test } from 'vitest'
import { SEARCH_BOUNDS } from '#core/domain/bounds.ts'
import { IMPORT_BOUNDS } from '#law/import/bounds.ts'
import { DUPLICATE } from '#law/import/passage/stager.ts'
import { importContents, importLines, importSnapshots, line, smallMapping } from '#test/support/import.ts'

const TEXT = 'A keeper of bees registers every hive before the first of May.'
const entry = (reason: string, at: number, id?: string): object => ({
  source: 'corpus.jsonl',
  line: at,
  ...(id === undefined ? {} : { id }),
  reason,
})

describe('a JSONL import', () => {
  test('reads LF and CRLF lines alike, a byte order mark, blank lines, and a last line without an end', async () => {
    const { passages, report } = await importLines(
      [
        `\uFEFF${line('a', TEXT)}\r\n\r\n`,
        `${line('b', `${TEXT} It does.`, { section: '2' })}\n\n`,
        line('c', `${TEXT} So.`, { section: '3' }),
      ].join(''),
    )
    expect(passages.map((passage) => passage.source_id)).toEqual(['a', 'b', 'c'])
    expect(report).toMatchObject({ files: 1, records_read: 3, passages: 3, skipped: 0, documents: 1, revisions: 1 })
  })

  test('takes equal keys of different objects, and texts that look like keys, as they are', async () => {
    const text = String.raw`{"text": "\\", "text": 1}\\`
    const record = JSON.stringify({ id: 'a', ...JSON.parse(line('b', text)), x: [{ id: 1 }, { id: 2 }, 'id', '"id":'] })
    const { passages } = await importLines(record)
    expect(passages.map((passage) => passage.text)).toEqual([text])
  })

  test('accepts _id for id', async () => {
    const { passages } = await importLines(line('a', TEXT).replace('"id"', '"_id"'))
    expect(passages.map((passage) => passage.source_id)).toEqual(['a'])
  })

  test('takes numbers of ids and metadata as they are written, above 2^53 too', async () => {
    const records = ['9007199254740992', '9007199254740993', '1.0', '1'].map((id) =>
      line('x', TEXT).replace('"id":"x"', `"id":${id}`).replace('"section":"1"', '"section":1.10'),
    )
    const { passages, report } = await importLines(records)
    expect(passages.map((passage) => passage.source_id)).toEqual(['9007199254740992', '9007199254740993', '1.0', '1'])
    expect(new Set(passages.map((passage) => passage.citation.label))).toEqual(new Set(['Bees s. 1.10']))
    expect(report.skipped).toBe(0)
  })

  test('fills every field of a passage from its record, in canonical form', async () => {
    const { passages } = await importLines(line('a', `  ${TEXT}\n`, { until: '2024-05-06' }))
    expect(passages[0]).toMatchObject({
      text: TEXT,
      document: {
        title: 'The Bees Act',
        authority: 'Parliament',
        canonical_url: 'https://law.example/Bees',
        published_at: '2020-01-02T00:00:00.000Z',
        effective_at: '2020-02-03T00:00:00.000Z',
      },
      citation: { label: 'Bees s. 1' },
      metadata: { language: 'en-GB', jurisdiction: 'GB', verification_status: 'verified' },
      subjects: ['apiculture', 'food'],
      in_force_from: '2020-02-03',
      in_force_to: '2024-05-06',
      ordinal: 0,
      document_key: 'bees',
      heading: 'The Bees Act › Section a',
      lineage: {},
    })
  })

  test.each([
    ['not valid UTF-8', Buffer.concat([Buffer.from('{"id":"a","text":"'), Buffer.from([0xff]), Buffer.from('"}')])],
    ['not valid JSON', '{"id":"a"'],
    ['not an object with "id" or "_id" and "text" as strings', '{"id":"a"}'],
    ['not an object with "id" or "_id" and "text" as strings', 'null'],
    ['not an object with "id" or "_id" and "text" as strings', '{"id":1,"text":2}'],
    ['not an object with "id" or "_id" and "text" as strings', '{"id":1,"text":"a","metadata":2}'],
    ['not valid JSON', `{"id":1,"text":"a","metadata":{"n":${'['.repeat(400_000)}${']'.repeat(400_000)}}}`],
    ['an object has the same key twice', '{"id":"a","text":"The firm must","text":"The firm need not"}'],
    ['an object has the same key twice', String.raw`{"id":"a","te\u0078t" : "The firm must","text":"need not"}`],
    ['an object has the same key twice', '{"id":"a","text":"","metadata":{"x":[{"\\"":1, "\\"" :1}]}}'],
    [`line longer than ${IMPORT_BOUNDS.lineBytesMax} bytes`, line('a', 'x'.repeat(IMPORT_BOUNDS.lineBytesMax))],
  ])('reports a line that is %s with its number and goes on', async (reason, bad) => {
    const { passages, report } = await importLines(
      Buffer.concat([
        Buffer.from(`${line('first', TEXT)}\n`),
        Buffer.from(bad),
        Buffer.from(`\n${line('last', TEXT)}\n`),
      ]),
    )
    expect(passages.map((passage) => passage.source_id)).toEqual(['first', 'last'])
    expect(report.entries).toMatchObject([entry(reason, 2)])
  })

  test.each([
    ['text is blank', line('a', ' \u200B\n')],
    ['text only repeats its title', line('a', 'Section a')],
    ['contains a NUL character', line('a', 'be\0es')],
    ['contains a lone surrogate', line('a', 'bees').replace('bees', String.raw`be\ud83des`)],
    ['published_at missing', line('a', TEXT, { published: '' })],
    ['published_at, effective_at missing', line('a', TEXT, { published: null, effective: null })],
    ['published_at is not a date', line('a', TEXT, { published: '99999999' })],
    ['effective_at is not a date', line('a', TEXT, { effective: '2023-02-30' })],
    ['effective_to is not a date', line('a', TEXT, { until: 'later' })],
    ['effective_to is not a date', line('a', TEXT, { until: '10000-01-01' })],
    ['effective_to is not a date', line('a', TEXT, { until: '0000-01-01' })],
    [
      'effective_at has a time of day: state the day in the zone of its jurisdiction',
      line('a', TEXT, { effective: '2020-01-01T00:00+10:00' }),
    ],
    ['effective_to is not after effective_at', line('a', TEXT, { until: '2020-02-03' })],
    ['language is not a BCP 47 tag', line('a', TEXT, { lang: 'not a tag' })],
    ['canonical_url is not an http(s) URL', line('a', TEXT, { act: 'a b' })],
    [
      `citation_label longer than ${IMPORT_BOUNDS.labelCharactersMax} characters`,
      line('a', TEXT, { section: '1'.repeat(IMPORT_BOUNDS.labelCharactersMax) }),
    ],
    [
      `canonical_url longer than ${IMPORT_BOUNDS.urlCharactersMax} characters`,
      line('a', TEXT, { act: 'b'.repeat(IMPORT_BOUNDS.urlCharactersMax) }),
    ],
    [
      `subjects longer than ${SEARCH_BOUNDS.filterValueCharactersMax} characters`,
      line('a', TEXT, { subjects: 's'.repeat(SEARCH_BOUNDS.filterValueCharactersMax + 1) }),
    ],
    ['repealed', line('a', '(Repealed.)')],
  ])('skips a record with the reason "%s", its line and its id', async (reason, bad) => {
    const mapping = smallMapping(
      { document_key: 'acts', title: 'Acts' },
      { reversed_dates: 'skip', skip_patterns: [{ pattern: '^\\(Repealed\\.\\)$', reason: 'repealed' }] },
    )
    const { passages, report } = await importLines(`${line('first', TEXT)}\n${bad}\n`, mapping)
    expect(passages.map((passage) => passage.source_id)).toEqual(['first'])
    const { title, text } = JSON.parse(bad) as { readonly title: string; readonly text: string }
    const readable = !/surrogate|NUL/.test(reason)
    const shown = (readable ? `${title}\n${text}` : bad).slice(0, IMPORT_BOUNDS.reportTextMax)
    expect(report.entries).toMatchObject([entry(reason, 2, 'a')])
    expect(report.entries[0]?.text).toBe(shown)
    expect(report.reasons).toEqual({ [reason]: 1 })
  })

  test('compares documents and provisions in NFC with single spaces, so a revision ends both', async () => {
    const written = [
      { act: 'Caf\u00E9', section: '5 a', published: '2020-01-02', effective: '2020-02-03' },
      { act: 'Cafe\u0301', section: '5\u00A0 a', published: '2021-01-02', effective: '2021-02-03' },
    ]
    const { passages } = await importLines(
      written.map((fields, index) => line(`r${index}`, `${TEXT} ${index}`, fields)),
      smallMapping({ canonical_url: 'https://law.example/a' }, { revises: 'provision' }),
    )
    expect(passages.map((passage) => passage.in_force_to)).toEqual(['2021-02-03', null])
    expect(new Set(passages.map((passage) => passage.document.id)).size).toBe(1)
    expect(new Set(passages.map((passage) => passage.provision)).size).toBe(1)
    expect(passages.map((passage) => passage.citation.label)).toEqual(['Caf\u00E9 s. 5 a', 'Cafe\u0301 s. 5\u00A0 a'])
  })

  test('skips a record that repeats another one, in another file too, and names both', async () => {
    const { passages, report } = await importContents(
      { 'a.jsonl': `${line('a', TEXT)}\n${line('a', TEXT)}\n`, 'b.jsonl': line('a', TEXT) },
      smallMapping(),
    )
    expect(passages).toHaveLength(1)
    expect(report.entries).toEqual([
      { source: 'a.jsonl', line: 2, id: 'a', reason: DUPLICATE, other: { source: 'a.jsonl', line: 1, id: 'a' } },
      { source: 'b.jsonl', line: 1, id: 'a', reason: DUPLICATE, other: { source: 'a.jsonl', line: 1, id: 'a' } },
    ])
    expect(report.lost).toBe(0)
  })

  test('keeps no part of a record one of whose parts breaks a bound', async () => {
    const long = 'A keeper of bees registers every hive. '.repeat(150)
    const { passages, report } = await importLines(
      line('a', long),
      smallMapping({ citation_label: 'x'.repeat(IMPORT_BOUNDS.labelCharactersMax - 3) }),
    )
    expect(passages).toEqual([])
    expect(report).toMatchObject({ records_read: 1, skipped: 1, split: 0 })
  })

  test('splits a long record into numbered parts which together hold its text', async () => {
    const long = Array.from(
      { length: 60 },
      (_, index) =>
        `Keeper number ${index} registers every hive, whatever its size, before the first of May of ` +
        'each year, and tells the neighbours.',
    ).join('\n\n')
    const { passages, report } = await importLines(line('a', long))
    expect(passages.map((passage) => passage.citation.label)).toEqual([
      'Bees s. 1 (part 1 of 2)',
      'Bees s. 1 (part 2 of 2)',
    ])
    expect(passages.map((passage) => passage.ordinal)).toEqual([0, 1])
    expect(passages.map((passage) => passage.text).join('\n\n')).toBe(long)
    expect(report).toMatchObject({ records_read: 1, passages: 2, split: 1, skipped: 0 })
  })

  test('stops when its signal is aborted', async () => {
    const run = importSnapshots({
      mapping: smallMapping(),
      snapshots: [{ id: 's', sourceName: 'x', mediaType: 'x', path: import.meta.filename }],
      signal: AbortSignal.abort(),
    })
    await expect(run).rejects.toThrow(/abort/)
  })
})
