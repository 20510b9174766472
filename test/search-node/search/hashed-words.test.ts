import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createLocalEmbedder, embedText } from '#core/embedding/local/embedder.ts'
import { artifactRef, openIndex } from '#core/index/format/reader.ts'
import type { IndexReader } from '#core/index/format/reader.ts'
import type { EmbeddingSpace } from '#core/index/format/manifest.ts'
import type { ArtifactRow } from '#core/index/format/writer.ts'
import type { SearchResult } from '#core/domain/search.ts'
import type { SearchScope } from '#search-node/search/candidates/source.ts'
import { createIndexVersion, createSearchShared } from '#search-node/search/index-version.ts'
import type { SearchableVersion } from '#search-node/search/index-version.ts'
import { search } from '#search-node/search/pipeline.ts'
import type { SearchInput } from '#search-node/search/query.ts'
import { EVERYTHING, RANKING, UNLIMITED, inputOf } from '#test/support/search-node/asked.ts'
import { ownWord, questionOn, wordedRows } from '#test/support/search-node/worded-corpus.ts'
import { buildTestArtifact, seededRandom, signingKeys } from '#test/support/artifact.ts'
import { spaceOf } from '#test/support/embedding-space.ts'

const seed = Number(process.env['TEST_SEED'] ?? Date.now() % 1_000_000)
console.log(`TEST_SEED=${seed}`)
const ROWS = 2_000
const TOPICS = 8
/** Only passages of the first documents hold it. */
const RARE = 'unfrequented'
const RARE_DOCUMENTS = 15

const store = mkdtempSync(join(tmpdir(), 'hashed-words-'))
let rows: readonly ArtifactRow[]
let index: IndexReader
let encoded: IndexReader
beforeAll(async () => {
  const worded = wordedRows({ rows: ROWS, dimensions: 8, seed, clusters: TOPICS })
  rows = worded.map(({ record }) => {
    const rare = Number(record.source_id.split('#r')[1]) < RARE_DOCUMENTS * 10
    const text = rare ? `${record.text} ${RARE}` : record.text
    return { record: { ...record, text }, vector: embedText(`${record.heading}\n${text}`) }
  })
  index = await openArtifact('hashed', createLocalEmbedder().space)
  encoded = await openArtifact('encoded', spaceOf(1_024, { provider: 'openai', model: 'encoder' }))
})
afterAll(() => {
  for (const opened of [index, encoded]) opened.close()
  rmSync(store, { recursive: true, force: true })
})

async function openArtifact(name: string, embedding: EmbeddingSpace): Promise<IndexReader> {
  const { privateKeyDer } = signingKeys()
  const { folder, manifest } = await buildTestArtifact({ store, rows, privateKeyDer, name, embedding })
  return openIndex(artifactRef(folder, manifest))
}

/** A version in which every scan takes too long. */
const largeVersion = (of: IndexReader = index): SearchableVersion => createIndexVersion(of, createSearchShared(of), 0)

function ask(version: SearchableVersion, text: string, change: Partial<SearchInput> = {}): Promise<SearchResult> {
  return search(version, inputOf({ text, vector: embedText(text), ...change }), UNLIMITED)
}

function topics(): readonly string[] {
  const random = seededRandom(seed + 2)
  return Array.from({ length: TOPICS }, (_, topic) => questionOn(topic, random))
}

const everything = (): SearchScope => ({ filters: EVERYTHING, onlyRows: undefined, collapseRevisionsOn: '' })
const cosine = (a: Float32Array, b: Float32Array): number => a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0)

test('the candidates by vector are the nearest of the best rows by words where a scan takes long', async () => {
  for (const text of topics()) {
    const { candidates, statistics } = largeVersion()
    const vector = embedText(text)
    const asked = { question: statistics.question(text, ['en']), scope: everything(), rowsScoredMin: 64 }
    const found = await candidates.byVector({ ...asked, vector, depth: 20 }, UNLIMITED)
    const byWords = await largeVersion().candidates.byWords({ ...asked, depth: 8 * 68 }, UNLIMITED)
    const scored = Array.from(byWords.ids, (row) => ({ row, score: cosine(rows[row]?.vector ?? vector, vector) }))
    const nearest = scored.sort((a, b) => b.score - a.score).slice(0, 20)
    expect(found.plan).toBe('words')
    expect([...found.ids]).toEqual([...found.ids].sort((a, b) => a - b))
    expect(found.ids.length).toBeGreaterThanOrEqual(20)
    for (const { row, score } of nearest) expect(found.scores[found.ids.indexOf(row)]).toBeCloseTo(score, 6)
  }
})

test('the candidates by words are the same after those by vector as without them', async () => {
  for (const text of topics()) {
    const { candidates, statistics } = largeVersion()
    const asked = { question: statistics.question(text, ['en']), scope: everything(), rowsScoredMin: 64 }
    await candidates.byVector({ ...asked, vector: embedText(text), depth: 20 }, UNLIMITED)
    const after = await candidates.byWords({ ...asked, depth: 50 }, UNLIMITED)
    expect(after).toEqual(await largeVersion().candidates.byWords({ ...asked, depth: 50 }, UNLIMITED))
    expect(after.ids).toHaveLength(50)
  }
})

test('the first passages are those of a scan', async () => {
  for (const text of topics()) {
    const [words, scan] = [await ask(largeVersion(), text), await ask(createIndexVersion(index), text)]
    expect([words.plan, scan.plan]).toEqual(['words', 'scan'])
    expect(words.passages.map(({ row }) => row)).toEqual(scan.passages.map(({ row }) => row))
  }
})

test('a reply is filled by a scan where too few passages share a word with the question', async () => {
  for (const text of ['Zweckentfremdungsverbot', ownWord(3), `${ownWord(3)} ${ownWord(700)}`]) {
    const reply = await ask(largeVersion(), text, { limit: 12 })
    expect(reply.plan).toBe('scan')
    expect(reply.passages).toHaveLength(12)
  }
})

test('a reply is filled with documents that share no word where the words are in too few documents', async () => {
  const reply = await ask(largeVersion(), RARE, { limit: 25, ranking: { ...RANKING, perDocumentMax: 1 } })
  expect(reply.plan).toBe('words')
  expect(new Set(reply.passages.map(({ document }) => document.id)).size).toBe(25)
})

test('few allowed rows, a question without text and the vectors of an encoder are scanned', async () => {
  const [text = ''] = topics()
  const document = rows[0]?.record.document.id ?? ''
  const narrow = await ask(createIndexVersion(index), text, { filters: { ...EVERYTHING, documents: [document] } })
  const blank = await ask(largeVersion(), '', { vector: embedText(text) })
  const ofEncoder = await ask(largeVersion(encoded), text)
  expect([narrow.plan, blank.plan, ofEncoder.plan]).toEqual(['exact', 'scan', 'scan'])
})

test('a version answers alike whatever it was asked before', async () => {
  const [one, other] = [largeVersion(), largeVersion()]
  for (const text of topics()) await ask(other, text, { limit: 40 })
  for (const text of topics()) expect(await ask(one, text)).toEqual(await ask(other, text))
})
