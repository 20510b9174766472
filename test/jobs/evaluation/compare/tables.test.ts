import { describe, expect, test } from 'vitest'
import { ARTIFACT_FILES, type ArtifactFile, type Manifest } from '#core/index/format/manifest.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { createRowInputs, tableChanges, type ComparedTables } from '#jobs/evaluation/compare/tables.ts'
import { spaceOf, testManifest, buildTestArtifact } from '#test/support/artifact.ts'
import { testPassage, testRows } from '#test/support/passages.ts'
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ComparedContents } from '#jobs/evaluation/compare/compared-passages.ts'
import { compareContents } from '#jobs/evaluation/compare/contents.ts'
import { openChangesRecorder } from '#jobs/evaluation/compare/recorder.ts'
import { changesNamed } from '#test/support/compared-contents.ts'
import { signingKeys } from '#test/support/secrets.ts'
import { folderOfFile } from '#test/support/folder.ts'

const ROWS = Array.from({ length: 5 }, (_, n) => testPassage(n))
const MANIFEST = testManifest('0198c0de-0000-7000-8000-000000000001')
/** Compared field by field, or read by no search. */
const NOT_DERIVED: readonly ArtifactFile[] = [
  'passages.jsonl',
  'sources.jsonl',
  'references.json',
  'search-questions.jsonl',
]
const VECTORS: readonly ArtifactFile[] = [
  'vectors.f32',
  'vectors.sq4',
  'clusters.u32',
  'centroids.sq4',
  'graph.usearch',
]

function tables(rows: readonly PassageRecord[] = ROWS, change: Partial<Manifest> = {}): ComparedTables {
  const inputs = createRowInputs()
  for (const row of rows) inputs.add(row)
  return { manifest: { ...MANIFEST, ...change }, inputs: inputs.finish() }
}

/** The manifest's files, of which some have other bytes. */
const other = (...names: readonly ArtifactFile[]): Manifest['files'] => ({
  ...MANIFEST.files,
  ...Object.fromEntries(names.map((name) => [name, { bytes: 1, sha256: 'b'.repeat(64) }])),
})
const found = (before: ComparedTables, after: ComparedTables): readonly unknown[] => [...tableChanges(before, after)]

describe('a derived table whose inputs are equal', () => {
  test.each(ARTIFACT_FILES.filter((name) => ![...NOT_DERIVED, ...VECTORS].includes(name)))(
    'fails the comparison by name if it differs: %s',
    (name) => {
      expect(() => found(tables(), tables(ROWS, { files: other(name) }))).toThrow(
        `differs from the active version in ${name}, a difference that no listed change explains`,
      )
    },
  )

  test('is a change that approvals accept by name where an endpoint sent other vectors', () => {
    const clusters = { count: 2, connectivity: 64, nprobe: 1, deviations: 4 }
    expect(found(tables(), tables(ROWS, { files: other(...VECTORS), clusters }))).toEqual(
      [...VECTORS, 'clusters'].map((file) => ({ kind: 'vectors_changed', file })),
    )
  })
})

describe('a derived table is explained', () => {
  const explained = (change: Partial<PassageRecord>, ...names: readonly ArtifactFile[]): readonly unknown[] =>
    found(tables(), tables([{ ...testPassage(0), ...change }, ...ROWS.slice(1)], { files: other(...names) }))

  test('by other words, and then only what words make', () => {
    expect(explained({ text: 'Another text.' }, 'lexical.postings', 'forward.tokens', ...VECTORS)).toEqual([])
    expect(() => explained({ text: 'Another text.' }, 'references.bin')).toThrow('in references.bin')
    expect(() => explained({ text: 'Another text.' }, 'facets.bin')).toThrow('in facets.bin')
  })

  test('by other subjects, dates or references, and then only what they make', () => {
    expect(explained({ subjects: ['tax'] }, 'facets.json', 'facets.bin')).toEqual([])
    expect(explained({ in_force_to: '2030-01-01' }, 'facets.bin')).toEqual([])
    expect(explained({ references: ['de:bgb#433'] }, 'references.bin')).toEqual([])
    expect(() => explained({ subjects: ['tax'] }, 'lexical.postings')).toThrow('in lexical.postings')
  })

  test('by another embedding space', () => {
    expect(
      found(tables(), tables(ROWS, { embedding: spaceOf(8, { model: 'another' }), files: other(...VECTORS) })),
    ).toEqual([])
  })

  test('by another order of the passages', () => {
    const files = other('lexical.postings', 'passages.jsonl', 'passages.offsets')
    expect(found(tables(), tables(ROWS.toReversed(), { files }))).toEqual([])
  })
})

const folder = folderOfFile()

const { privateKeyDer } = signingKeys()
const rows = testRows({ rows: 20, dimensions: 8, seed: 1 })
const FACETS = { languages: ['en'], jurisdictions: ['XA'], subjects: ['general'], statuses: ['verified' as const] }
let built = 0

async function versionWith(questions: readonly (readonly [row: number, q: string])[]): Promise<ComparedContents> {
  built += 1
  const queryExpansions = questions.map(([row, q]) => ({ row, q, lang: 'en', id: rows[row]?.record.source_id ?? '' }))
  const { versionId, ...artifact } = await buildTestArtifact({
    store: folder,
    rows,
    privateKeyDer,
    queryExpansions,
    name: `version ${built}`,
  })
  return { versionId, folder: artifact.folder, manifest: artifact.manifest, facets: FACETS }
}

/** The named changes of contents and tables. */
async function compared(before: ComparedContents, after: ComparedContents): Promise<readonly object[]> {
  const path = join(folder, 'version.changes.jsonl')
  await using recorder = await openChangesRecorder(path)
  const inputs = await compareContents({
    before,
    after,
    sortFile: join(folder, 'comparison.sqlite'),
    recorder,
    signal: new AbortController().signal,
    onProgress: () => undefined,
  })
  for (const change of tableChanges({ ...before, inputs: inputs.before }, { ...after, inputs: inputs.after }))
    await recorder.record(change)
  const { changes } = await recorder.finish()
  const named = changesNamed(path)
  expect(changes.counts.search_questions_changed).toBe(named.length)
  return named
}

test('two versions differ by each search question that only one of them holds', async () => {
  const before = await versionWith([
    [3, 'May I keep bees?'],
    [3, 'How many hives?'],
  ])
  const after = await versionWith([
    [3, 'How many hives?'],
    [5, 'Who inspects hives?'],
  ])
  const change = { kind: 'search_questions_changed', language: 'en' }
  expect(await compared(before, after)).toEqual([
    { ...change, passage: 'doc-0#r3', before: 'May I keep bees?', after: null },
    { ...change, passage: 'doc-0#r5', before: null, after: 'Who inspects hives?' },
  ])
  expect(await compared(before, await versionWith([]))).toHaveLength(2)
  expect(await compared(await versionWith([]), after)).toHaveLength(2)
})

test('versions with the same search questions do not differ', async () => {
  const questions = [[3, 'May I keep bees?']] as const
  expect(await compared(await versionWith(questions), await versionWith(questions))).toEqual([])
})

test('a table of search questions that differs although the questions are equal fails the comparison', async () => {
  const questions = [[3, 'May I keep bees?']] as const
  const [before, after] = [await versionWith(questions), await versionWith(questions)]
  const { manifest } = after
  const files = { ...manifest.files, 'search-questions.postings': { bytes: 1, sha256: 'b'.repeat(64) } }
  await expect(compared(before, { ...after, manifest: { ...manifest, files } })).rejects.toThrow(
    /differs from the active version in search-questions.postings/,
  )
})

test('search questions that were altered after their verification fail the comparison', async () => {
  const [before, after] = [await versionWith([]), await versionWith([[3, 'May I keep bees?']])]
  appendFileSync(join(after.folder, 'search-questions.jsonl'), '{"id":"doc-0#r4","lang":"en","q":"Bees?"}\n')
  await expect(compared(before, after)).rejects.toThrow(/of the candidate was/)
})
