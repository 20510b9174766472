import { mkdtempSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { OPEN_END_DAY, dayNumber, facetsLayout, facetsSchema } from '#core/index/facets/layout.ts'
import { passageRecordSchema } from '#core/index/passages/record.ts'
import { openReferencesReader } from '#core/index/references/reader.ts'
import { ARTIFACT_FORMAT } from '#core/index/format/manifest.ts'
import { rowOrder } from '#core/index/format/row-checks.ts'
import { readRowTable } from '#core/index/passages/row-table.ts'
import { verifyArtifact } from '#core/index/format/verify.ts'
import { writeArtifact, type ArtifactInput, type ArtifactRow } from '#core/index/format/writer.ts'
import { derivedUuid } from '#core/platform/ids.ts'
import { createResidentParts } from '#core/index/storage/resident-parts.ts'
import { signingKeys } from '#test/support/secrets.ts'
import { testPassage, testRows, unit } from '#test/support/passages.ts'
import { sourcesOf, spaceOf } from '#test/support/artifact.ts'
import { folderOfFile } from '#test/support/folder.ts'

const keys = signingKeys()
const root = folderOfFile()
let folder: string
let artifactFolder: string

beforeEach(() => {
  folder = mkdtempSync(join(root, 'each-'))
  artifactFolder = join(folder, 'artifacts', 'version')
})

function input(rows: readonly ArtifactRow[], more: Partial<ArtifactInput> = {}): ArtifactInput {
  return {
    artifactFolder,
    versionId: derivedUuid('test', 'version'),
    embedding: spaceOf(8),
    snapshotsDigest: 'a'.repeat(64),
    sources: sourcesOf(rows.map(({ record }) => record.citation.source_snapshot_id)),
    passages: rows.length,
    rows,
    acts: [],
    sampleQueries: () => Promise.resolve([unit(new Float32Array(8).fill(1))]),
    privateKeyDer: keys.privateKeyDer,
    ...more,
  }
}

const corpus = (rows: number): ArtifactRow[] =>
  testRows({
    rows,
    dimensions: 8,
    seed: 11,
    traits: (n) => ({
      language: n % 3 === 0 ? 'de' : 'en',
      subjects: n % 2 === 0 ? ['a', 'b'] : [],
      inForceTo: n % 5 === 0 ? '2025-01-01' : null,
    }),
  })

function row(record: ArtifactRow['record'], vector: Float32Array = new Float32Array(8).fill(1)): ArtifactRow {
  return { record, vector }
}

test('an artifact verifies and holds every row as it was given', async () => {
  const rows = corpus(2_345)
  const { manifest, manifestDigest } = await writeArtifact(input(rows))
  expect(await verifyArtifact(artifactFolder, [keys.publicKeyDer], manifestDigest)).toEqual(manifest)
  expect(manifest.passages).toBe(2_345)
  expect(manifest.documents).toBe(235)

  const offsets = new Float64Array(new Uint8Array(readFileSync(join(artifactFolder, 'passages.offsets'))).buffer)
  const passages = readFileSync(join(artifactFolder, 'passages.jsonl'))
  for (const at of [0, 1, 999, 1_000, 2_344])
    expect(passageRecordSchema.parse(JSON.parse(passages.toString('utf8', offsets[at], offsets[at + 1])))).toEqual(
      rows[at]?.record,
    )
  const vectors = new Float32Array(new Uint8Array(readFileSync(join(artifactFolder, 'vectors.f32'))).buffer)
  for (const at of [0, 1_000, 2_344]) expect(Math.hypot(...vectors.subarray(at * 8, at * 8 + 8))).toBeCloseTo(1, 6)
})

test('an artifact in place is kept if any trusted key signed it, and refused otherwise', async () => {
  const earlier = await writeArtifact(input(corpus(20)))
  const current = signingKeys()
  const again = { ...input(corpus(20)), privateKeyDer: current.privateKeyDer }
  const trusted = { ...again, publicKeysDer: [current.publicKeyDer, keys.publicKeyDer] }
  expect(await writeArtifact(trusted)).toEqual(earlier)
  await expect(writeArtifact(again)).rejects.toThrow(/holds under no key/)
})

test('facets hold one bit a row and value, and the days a row is in force', async () => {
  const rows = corpus(77)
  await writeArtifact(input(rows))
  const facets = facetsSchema.parse(JSON.parse(readFileSync(join(artifactFolder, 'facets.json'), 'utf8')))
  expect(facets).toEqual({
    languages: ['de', 'en'],
    jurisdictions: ['XA'],
    subjects: ['a', 'b'],
    statuses: ['verified'],
  })
  const bytes = readFileSync(join(artifactFolder, 'facets.bin'))
  const { fromOffset, toOffset } = facetsLayout(77, facets)
  rows.forEach(({ record }, at) => {
    const bit = (value: number): boolean => ((bytes.readUInt32LE((value * 3 + (at >>> 5)) * 4) >>> (at & 31)) & 1) === 1
    expect([bit(0), bit(1), bit(2), bit(3), bit(4), bit(5)]).toEqual([
      record.metadata.language === 'de',
      record.metadata.language === 'en',
      true,
      record.subjects.includes('a'),
      record.subjects.includes('b'),
      true,
    ])
    expect(bytes.readInt32LE(fromOffset + at * 4)).toBe(dayNumber('2024-02-01'))
    expect(bytes.readInt32LE(toOffset + at * 4)).toBe(
      record.in_force_to === null ? OPEN_END_DAY : dayNumber('2025-01-01'),
    )
  })
})

test('words, provisions and acts are indexed under the row of their passage', async () => {
  const rows = testRows({
    rows: 45,
    dimensions: 8,
    seed: 12,
    traits: (n) => ({
      text: `Word${n} alone.`,
      references: n % 3 === 0 ? [`rulebook:bee#${n}/1`] : [],
      revision: n % 10 < 5 ? 'old' : 'new',
    }),
  })
  const acts = [{ id: 'rulebook:bee', aliases: ['BEE'] }]
  await writeArtifact(input(rows, { acts }))
  const json = (name: string): unknown => JSON.parse(readFileSync(join(artifactFolder, name), 'utf8'))
  expect(json('lexical.json')).toMatchObject({ rows: 45, languages: ['en'] })
  expect(json('forward.json')).toMatchObject({ rows: 45 })
  expect(json('references.json')).toMatchObject({ acts, terms: 30 })
  const references = openReferencesReader(artifactFolder)
  const table = readRowTable(artifactFolder, 45, createResidentParts())
  for (const [at, { record }] of rows.entries()) {
    for (const reference of record.references) expect([...references.rowsOf(reference)]).toEqual([at])
    expect(table.sameRevisionAsPrevious[at]).toBe(
      Number(rows[at - 1]?.record.document.revision_id === record.document.revision_id),
    )
  }
  references.close()
})

test('the same passages give the same files, whatever the folder and the key', async () => {
  const rows = corpus(1_500)
  const { manifest: one } = await writeArtifact(input(rows))
  const { privateKeyDer } = signingKeys()
  const { manifest: two } = await writeArtifact(
    input(rows, {
      privateKeyDer,
      artifactFolder: join(folder, 'artifacts', 'other'),
      versionId: derivedUuid('test', 'other'),
    }),
  )
  expect(two.files).toEqual(one.files)
  expect(two.clusters).toEqual(one.clusters)
})

test('a version without vectors has no file of them, and verifies', async () => {
  const rows = corpus(120)
  const { manifest, manifestDigest } = await writeArtifact(
    input(rows, { embedding: undefined, rows: rows.map(({ record }) => ({ record })) }),
  )
  expect(manifest.embedding).toBeUndefined()
  expect(manifest.cosines).toBeUndefined()
  expect(readdirSync(artifactFolder).filter((name) => /^(vectors|clusters|centroids|graph)/.test(name))).toEqual([])
  expect(await verifyArtifact(artifactFolder, [keys.publicKeyDer], manifestDigest)).toEqual(manifest)
})

test('progress is told batch by batch up to the total', async () => {
  const seen: number[] = []
  await writeArtifact(input(corpus(2_100), { onProgress: (done, total) => seen.push(done, total) }))
  expect(seen).toEqual([1_000, 2_100, 2_000, 2_100, 2_100, 2_100])
})

test('a passage of 4,000 characters outside the basic plane is kept, one character more is refused', async () => {
  await expect(writeArtifact(input([row(testPassage(1, { text: '𝔸'.repeat(4_001) }))]))).rejects.toThrow(
    /longer than 4000 characters/,
  )
  const { manifest } = await writeArtifact(input([row(testPassage(1, { text: '𝔸'.repeat(4_000) }))]))
  expect(manifest.passages).toBe(1)
})

const first = testPassage(1)
const second = testPassage(2)
const nan = new Float32Array(8).fill(1)
nan[3] = Number.NaN
test.each<[string, readonly ArtifactRow[], Partial<ArtifactInput>, RegExp]>([
  ['comes twice', [row(first), row(first)], {}, /comes twice/],
  ['comes out of row order', [row(second), row(first)], {}, /out of row order/],
  ['does not match the schema', [row({ ...first, chunk_id: 'chk_1' })], {}, /does not match the schema at chunk_id/],
  ['holds a lone surrogate', [row(testPassage(1, { text: 'broken \ud800 text' }))], {}, /lone surrogate/],
  [
    'cannot fit a reply',
    [row({ ...first, citation: { ...first.citation, label: 'x'.repeat(40_000) } })],
    {},
    /bytes in a reply/,
  ],
  ['has a vector with a NaN', [row(first, nan)], {}, /finite values/],
  ['has a vector without direction', [row(first, new Float32Array(8))], {}, /length above 0/],
  ['has a vector of another length', [row(first, new Float32Array(9).fill(1))], {}, /8 finite values/],
  ['is missing from the announced count', [row(first)], { passages: 2 }, /2 passages were announced and 1 came/],
  [
    'exceeds the announced count',
    [row(first), row(second)],
    { passages: 1 },
    /1 passages were announced and more came/,
  ],
])('a passage that %s is refused and nothing is left behind', async (_, rows, more, message) => {
  await expect(writeArtifact(input(rows, more))).rejects.toThrow(message)
  expect(readdirSync(join(folder, 'artifacts'))).toEqual([])
})

test('an abort between batches leaves nothing behind', async () => {
  const abort = new AbortController()
  const written = writeArtifact(
    input(corpus(3_000), { signal: abort.signal, onProgress: () => abort.abort(new Error('the build was stopped')) }),
  )
  await expect(written).rejects.toThrow('the build was stopped')
  expect(readdirSync(join(folder, 'artifacts'))).toEqual([])
})

test('nothing is visible under the final name before everything is written', async () => {
  const rows = corpus(2_000)
  const visible: string[][] = []
  await writeArtifact(input(rows, { onProgress: () => visible.push(readdirSync(join(folder, 'artifacts'))) }))
  expect(visible.flat().every((name) => /^version\.[0-9a-f]{12}\.tmp$/.test(name))).toBe(true)
  expect(readdirSync(join(folder, 'artifacts'))).toEqual(['version'])
})

test('an artifact that is in place is kept, also when two builds race', async () => {
  const rows = corpus(50)
  const [one, two] = await Promise.all([writeArtifact(input(rows)), writeArtifact(input(rows))])
  const again = await writeArtifact(input([]))
  expect(two.manifestDigest).toEqual(one.manifestDigest)
  expect(again.manifestDigest).toEqual(one.manifestDigest)
  expect(readdirSync(join(folder, 'artifacts'))).toEqual(['version'])
})

test('a damaged artifact in place is neither kept nor overwritten', async () => {
  await writeArtifact(input(corpus(50)))
  writeFileSync(join(artifactFolder, 'facets.json'), '{}')
  await expect(writeArtifact(input(corpus(50)))).rejects.toThrow(/facets.json has 2 bytes/)
  expect(readFileSync(join(artifactFolder, 'facets.json'), 'utf8')).toBe('{}')
})

test('an artifact of another version under the same name is not taken for this one', async () => {
  await writeArtifact(input(corpus(50)))
  await expect(writeArtifact(input(corpus(50), { versionId: derivedUuid('test', 'another version') }))).rejects.toThrow(
    /holds the artifact of another/,
  )
})

test('rows are ordered by language, jurisdiction, first subject, document, revision and place, by code units', () => {
  const base = testPassage(10)
  const ascending = [
    testPassage(99, { language: 'Z' }),
    testPassage(98, { language: 'a', jurisdiction: 'A', subjects: [] }),
    testPassage(97, { language: 'a', jurisdiction: 'A', subjects: ['m', 'a'] }),
    testPassage(96, { language: 'a', jurisdiction: 'B', subjects: ['a'] }),
    { ...base, metadata: { ...base.metadata, language: 'b' } },
    { ...base, metadata: { ...base.metadata, language: 'b' }, position: { ordinal: 12, document_passages: 20 } },
  ]
  for (let at = 1; at < ascending.length; at++) {
    const [lower, higher] = [ascending[at - 1], ascending[at]]
    if (lower === undefined || higher === undefined) throw new Error('unreachable')
    expect(rowOrder(lower, higher)).toBeLessThan(0)
    expect(rowOrder(higher, lower)).toBeGreaterThan(0)
    expect(rowOrder(lower, lower)).toBe(0)
  }
})

test('sample queries are embedded once for an artifact, and not for one that is in place', async () => {
  const rows = corpus(50)
  let calls = 0
  const sampleQueries = async (): Promise<readonly Float32Array[]> => {
    calls += 1
    return [unit(new Float32Array(8).fill(1))]
  }
  const written = await writeArtifact(input(rows, { sampleQueries }))
  const kept = await writeArtifact(input(rows, { sampleQueries }))
  expect([calls, written.manifest.format]).toEqual([1, ARTIFACT_FORMAT])
  expect(kept.manifestDigest).toEqual(written.manifestDigest)
})

test('sample queries that cannot be embedded leave no artifact', async () => {
  const sampleQueries = (): Promise<never> => Promise.reject(new Error('the endpoint is down'))
  await expect(writeArtifact(input(corpus(50), { sampleQueries }))).rejects.toThrow(/endpoint is down/)
  expect(readdirSync(join(folder, 'artifacts'))).toEqual([])
})
