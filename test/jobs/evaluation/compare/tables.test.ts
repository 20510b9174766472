import { describe, expect, test } from 'vitest'
import { ARTIFACT_FILES } from '#core/index/format/manifest.ts'
import type { ArtifactFile, Manifest } from '#core/index/format/manifest.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { createRowInputs, tableChanges } from '#jobs/evaluation/compare/tables.ts'
import type { ComparedTables } from '#jobs/evaluation/compare/tables.ts'
import { spaceOf, testManifest } from '#test/support/artifact.ts'
import { testPassage } from '#test/support/passages.ts'

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
