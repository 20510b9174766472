import { randomUUID } from 'node:crypto'
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { passageRecordSchema, type PassageRecord } from '#core/index/passages/record.ts'
import { rowOrder } from '#core/index/format/row-checks.ts'
import { documentRowSchema, revisionRowSchema } from '#core/db/versions.ts'
import type { BuildParameters } from '#jobs/version-build/parameters.ts'
import { preparePassages } from '#jobs/version-build/sort.ts'
import { captureSources } from '#law/sources/capture.ts'
import { listSource } from '#law/sources/list.ts'
import { line, smallMapping } from '#test/support/import.ts'
import { buildContextOf } from './quiet-build.ts'
import { storeIn } from '#test/support/artifact.ts'
import { folderOfTest } from '#test/support/folder.ts'

/** Imports and sorts the parts of a corpus as a build does. */
async function prepared(
  parts: Readonly<Record<string, readonly string[]>>,
  drop: BuildParameters['withdrawals']['drop'] = [],
) {
  const root = folderOfTest()
  const store = storeIn(join(root, 'store'))
  await mkdir(join(root, 'source'))
  for (const [name, lines] of Object.entries(parts)) await writeFile(join(root, 'source', name), lines.join('\n'))
  const captured = await captureSources(store, (await listSource(join(root, 'source'), 'jsonl')).files)
  const parameters = { embedding: 'none', withdrawals: { drop, restore: [] } }
  const context = await buildContextOf('sort', store, { captured, mapping: smallMapping() }, parameters)
  const corpus = await preparePassages(context)
  const files = new Map<string, readonly unknown[]>()
  for (const name of ['passages.jsonl', 'documents.jsonl', 'revisions.jsonl']) {
    const text = await readFile(join(context.workFolder, name), 'utf8')
    files.set(
      name,
      text
        .trimEnd()
        .split('\n')
        .map((each): unknown => JSON.parse(each)),
    )
  }
  return {
    corpus,
    passages: (files.get('passages.jsonl') ?? []).map((row) => passageRecordSchema.parse(row)),
    rows: (name: string) => Promise.resolve(files.get(name) ?? []),
    names: await readdir(context.workFolder),
  }
}

/** Values whose order by code points differs from their order by code units, and prefixes of each other. */
const SUBJECTS = ['a', 'ab', 'a b', 'Z', 'é', '\u{1D49C}', '\uFB00', '\uE000', '\u{10FFFF}', 'a\u0001']

function records(): readonly string[] {
  return Array.from({ length: 400 }, (_, n) => {
    const text = n % 50 === 0 ? `Rule ${n}. ${'The keeper counts each hive. '.repeat(200)}` : `Rule ${n} of the bees.`
    return line(`r${n}`, text, {
      act: `Act-${(n * 31) % 7}`,
      section: n,
      subjects: [SUBJECTS[(n * 17) % SUBJECTS.length], ...(n % 3 === 0 ? ['zz'] : [])].join(','),
      lang: ['en', 'de', 'en-GB', 'fr'][n % 4],
      place: ['GB', 'G', 'GBA', '\u{1D49C}'][(n * 13) % 4],
      effective: `202${(n * 5) % 3}-01-01`,
    })
  })
}

test('the passages of a build are in the row order of the artifact, by code units', async () => {
  const lines = records()
  const { passages } = await prepared({ 'corpus-1.jsonl': lines.slice(0, 150), 'corpus-2.jsonl': lines.slice(150) })
  expect(passages.length).toBeGreaterThan(400)
  expect(passages).toEqual(passages.toSorted(rowOrder))
  for (const { document, position } of passages)
    expect(position.document_passages).toBe(passages.filter((other) => other.document.id === document.id).length)
})

test('the rows of documents and revisions are those of the passages, and only complete files are left', async () => {
  const { passages, rows, names } = await prepared({ 'corpus.jsonl': records() })
  const documents = (await rows('documents.jsonl')).map((row) => documentRowSchema.parse(row))
  const revisions = (await rows('revisions.jsonl')).map((row) => revisionRowSchema.parse(row))
  expect(new Set(documents.map(({ id }) => id))).toEqual(new Set(passages.map(({ document }) => document.id)))
  expect(revisions.map(({ id }) => id).sort()).toEqual(
    [...new Set(passages.map(({ document }) => document.revision_id))].sort(),
  )
  expect(new Set(names)).toEqual(new Set(['passages.jsonl', 'documents.jsonl', 'revisions.jsonl', 'corpus.json']))
})

test('passages that are withdrawn and dropped are in no file, and all that is counted leaves them out', async () => {
  const sources = { 'corpus.jsonl': records() }
  const whole = await prepared(sources)
  const first = (found: (record: PassageRecord) => boolean): PassageRecord => {
    const record = whole.passages.find(found)
    if (record === undefined) throw new Error('the corpus has no such passage')
    return record
  }
  const part = first(({ citation }) => citation.label.includes('part 2'))
  const ofRecord = first(
    ({ citation, document }) => citation.label.includes('part 2') && document.id !== part.document.id,
  )
  const ofDocument = first(({ document }) => ![part, ofRecord].some((one) => one.document.id === document.id))
  const absent = randomUUID()
  const withdrawal = ({ document }: PassageRecord): BuildParameters['withdrawals']['drop'][number] => ({
    id: randomUUID(),
    document: document.id,
    provisions: [],
    chunk_id: '',
  })
  const { corpus, passages, rows } = await prepared(sources, [
    { ...withdrawal(part), chunk_id: part.chunk_id },
    { ...withdrawal(ofRecord), provisions: [ofRecord.provision] },
    withdrawal(ofDocument),
    { ...withdrawal(part), chunk_id: 'chk_elsewhere', id: absent },
  ])
  const left = whole.passages.filter(
    ({ chunk_id, source_id, document }) =>
      chunk_id !== part.chunk_id && source_id !== ofRecord.source_id && document.id !== ofDocument.document.id,
  )
  expect(passages.map(({ chunk_id }) => chunk_id).sort()).toEqual(left.map(({ chunk_id }) => chunk_id).sort())
  expect(corpus).toMatchObject({ passages: left.length, withdrawn: whole.passages.length - left.length })
  expect(corpus.withdrawals_without_passages).toEqual([absent])
  for (const { document, position } of passages)
    expect(position.document_passages).toBe(passages.filter((other) => other.document.id === document.id).length)
  expect((await rows('documents.jsonl')).map((row) => documentRowSchema.parse(row).id)).not.toContain(
    ofDocument.document.id,
  )
  const documents = [...new Map(whole.passages.map((one) => [one.document.id, withdrawal(one)])).values()]
  await expect(prepared(sources, documents)).rejects.toThrow('Every passage of the import is withdrawn')
})

test('a revision that ends with its successor says so in its lineage, and is in force until then', async () => {
  const lines = [
    line('a', 'Old rule.', { effective: '2020-01-01' }),
    line('b', 'New rule.', { effective: '2021-01-01' }),
  ]
  const { passages, rows } = await prepared({ 'corpus.jsonl': lines })
  const revisions = (await rows('revisions.jsonl')).map((row) => revisionRowSchema.parse(row))
  expect(revisions.map(({ effectiveTo, lineage }) => [effectiveTo, lineage])).toEqual([
    ['2021-01-01T00:00:00.000Z', { effective_to: 'day on which the next revision of the provision takes effect' }],
    [null, {}],
  ])
  expect(new Set(passages.map(({ in_force_from, in_force_to }) => `${in_force_from} ${in_force_to}`))).toEqual(
    new Set(['2020-01-01 2021-01-01', '2021-01-01 null']),
  )
})
