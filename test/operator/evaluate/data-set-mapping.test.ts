import { join } from 'node:path'
import { expect, test } from 'vitest'
import { evaluationMapping, limitSubjects, offsetFields } from '#operator/evaluate/data-set-mapping.ts'
import type { MappingChoices } from '#operator/evaluate/data-set-mapping.ts'
import { parseMapping } from '#law/import/mapping/mapping.ts'
import { writeDataSet } from '#test/jobs/evaluation/data-set.ts'
import { importSnapshots } from '#test/support/import.ts'

function corpusOf(records: readonly object[]): string {
  return join(writeDataSet({ 'corpus.jsonl': records }), 'corpus.jsonl')
}

async function imported(records: readonly object[], choices: MappingChoices = { limit: undefined, dated: false }) {
  const snapshot = {
    id: '0197a4c6-0000-7000-8000-000000000001',
    sourceName: 'corpus.jsonl',
    mediaType: 'application/x-ndjson',
    path: corpusOf(records),
  }
  const mapping = parseMapping(evaluationMapping(choices))
  return (await importSnapshots({ mapping, snapshots: [snapshot] })).passages
}

test('a record of only id and text becomes a passage whose other fields are marked as filled in', async () => {
  const [draft] = await imported([{ _id: 'r 1', text: 'Some text.' }])
  expect(draft).toMatchObject({
    source_id: 'r 1',
    heading: '–',
    citation: { label: 'r 1' },
    metadata: { language: 'en', jurisdiction: 'ZZ' },
    subjects: [],
  })
  for (const field of ['canonical_url', 'published_at', 'effective_at', 'jurisdiction', 'language'])
    expect(draft?.lineage[field]).toBe('evaluation only: a research corpus does not state it')
})

test('the title is the heading, however long, and the language is the record’s own where it is one', async () => {
  const drafts = await imported([
    { id: 'a', title: 'Heading', text: 'Text.', metadata: { lang: 'de' } },
    { id: 'b', title: 'x'.repeat(3_000), text: 'Text.', metadata: { language: 'unknown language' } },
  ])
  expect(drafts.map(({ heading, metadata }) => [heading.length, metadata.language])).toEqual([
    [7, 'de'],
    [2_000, 'en'],
  ])
})

test.each(['document_id', 'document', 'contract', 'celex', 'act', 'part'])(
  'records with the same %s are one document, in the order of the file',
  async (field) => {
    const drafts = await imported(
      ['c', 'a', 'b'].map((id) => ({ id, text: `Text ${id}.`, metadata: { [field]: 'same' } })),
    )
    expect(new Set(drafts.map(({ document }) => document.id)).size).toBe(1)
    expect(new Set(drafts.map(({ document }) => document.revision_id)).size).toBe(1)
    expect(drafts.map(({ source_id, ordinal }) => [source_id, ordinal])).toEqual([
      ['c', 0],
      ['a', 1],
      ['b', 2],
    ])
  },
)

test('a record that is cut into passages is known by each of their labels', async () => {
  const drafts = await imported([{ id: 'long (a)', text: 'A sentence of the record. '.repeat(400) }])
  expect(drafts.length).toBeGreaterThan(1)
  for (const { citation } of drafts) expect(citation.label).toMatch(/^long \(a\) \(part \d+ of \d+\)$/)
})

test('a record is found under what its corpus cites it as, never under its id', async () => {
  const drafts = await imported([
    { id: 'a', text: 'Text.', metadata: { citation: '12 CFR 1003.2(g)(1)' } },
    { id: '12 CFR 1003.3', text: 'Text.' },
  ])
  expect(drafts.map(({ references }) => references)).toEqual([['cfr:12/1003#2/g/1'], []])
})

test('dates of effect count only when the questions ask as of a day', async () => {
  const records = [{ id: 'a', text: 'Text.', metadata: { effective_from: '2015-01-01', effective_to: '2016-01-01' } }]
  expect(await imported(records)).toMatchObject([{ in_force_from: '2000-01-01', in_force_to: null }])
  expect(await imported(records, { limit: undefined, dated: true })).toMatchObject([
    { in_force_from: '2015-01-01', in_force_to: '2016-01-01' },
  ])
})

test('each value that confines questions has a subject of its own, also one with a comma or without end', async () => {
  const values = ['a,b', 'a', 'b', 'x'.repeat(300)]
  const records = [
    ...values.map((part, at) => ({ id: `r${at}`, text: 'Text.', metadata: { part } })),
    { id: 'none', text: 'Text.' },
  ]
  const subjectOf = await limitSubjects(corpusOf(records), 'part')
  const drafts = await imported(records, { limit: { field: 'part', subjectOf }, dated: false })
  expect(drafts.map(({ subjects }) => subjects)).toEqual([...values.map((value) => [subjectOf.get(value)]), []])
  expect(new Set(subjectOf.values()).size).toBe(values.length)
})

test('a field that no record has is told', async () => {
  await expect(limitSubjects(corpusOf([{ id: 'a', text: 'Text.' }]), 'part')).rejects.toThrow(
    /^No record of the corpus has the metadata field part/,
  )
})

test('offsets of a text are no end of a law, and years are', async () => {
  const records = (end: number): readonly object[] => [
    { id: 'a', text: 'Text.', metadata: { start: 0, end: 5 } },
    { id: 'b', text: 'Other text.', metadata: { start: 2005, end } },
  ]
  expect(await offsetFields(corpusOf(records(2017)))).toEqual(['end'])
  expect(await offsetFields(corpusOf(records(2010)))).toEqual([])
  expect(await offsetFields(corpusOf([{ id: 'a', text: 'Text.', metadata: { end: 5 } }]))).toEqual([])
})
