import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { removeIndexes } from '#core/engine/index-writer.ts'
import { searchIndex, wordsBody } from '#core/engine/query.ts'
import { DEFAULT_CALIBRATION } from '#core/domain/default-calibration.ts'
import { decideOn } from '#core/domain/decision.ts'
import type { Filters, SearchResult } from '#core/domain/search.ts'
import { verifyArtifact } from '#core/index/format/verify.ts'
import type { ArtifactRow } from '#core/index/format/writer.ts'
import { largest } from '#core/index/top-k.ts'
import { search } from '#search-node/search/pipeline.ts'
import type { SearchInput, SearchScope, SearchableVersion } from '#search-node/search/interfaces.ts'
import { queryNear, questionOn, seededRandom, unit, wordedRows } from '#test/support/passages.ts'
import { EVERYTHING, RANKING, UNLIMITED, allows, bruteForce, inputOf } from '#test/support/search.ts'
import { bothEngines, engineArtifact, publicKeyDer, startTestCluster } from './version.ts'
import type { BothEngines, TestCluster } from './version.ts'

const ROWS = 3_000
const DIMENSIONS = 48
/** One of so many rows has each subject. */
const SELECTIVITIES = { fifth: 5, hundredth: 100, thousandth: 1_000 } as const

let cluster: TestCluster
let three: BothEngines
let one: BothEngines
beforeAll(async () => {
  cluster = await startTestCluster()
  const rows = corpus()
  three = await bothEngines(cluster.client, rows, 3)
  one = await bothEngines(cluster.client, rows, 1)
})
afterAll(() => {
  three.close()
  one.close()
})

/** Passages of both languages and jurisdictions, some of them out of force, unverified, or with equal texts. */
function corpus(): ArtifactRow[] {
  const rows = wordedRows({
    rows: ROWS,
    dimensions: DIMENSIONS,
    seed: 5,
    clusters: 60,
    traits: (n) => ({
      language: n % 3 === 0 ? 'de' : 'en',
      jurisdiction: n % 2 === 0 ? 'XA' : 'XB',
      status: n % 17 === 0 ? 'provisional' : 'verified',
      inForceFrom: n % 5 === 0 ? '2024-06-01' : '2023-01-01',
      inForceTo: n % 7 === 0 ? '2025-01-01' : null,
      subjects: [
        'general',
        ...Object.entries(SELECTIVITIES).flatMap(([subject, share]) => (n % share === 5 % share ? [subject] : [])),
      ],
    }),
  })
  // Equal vectors, which only chunk ids tell apart.
  return rows.map((row, at) => (at % 100 < 4 ? { ...row, vector: rows[at - (at % 100)]?.vector ?? row.vector } : row))
}

const scopeOf = (filters: Filters, change: Partial<SearchScope> = {}): SearchScope => ({
  filters,
  onlyRows: undefined,
  collapseRevisionsOn: '',
  withdrawn: [],
  ...change,
})

/** Filters of each selectivity. */
const FILTERS: readonly Filters[] = [
  EVERYTHING,
  ...Object.keys(SELECTIVITIES).map((subject) => ({ ...EVERYTHING, anySubject: false, subjects: [subject] })),
]

async function firstTen(
  version: SearchableVersion,
  vector: Float32Array,
  filters: Filters,
): Promise<readonly string[]> {
  const query = { vector, scope: scopeOf(filters), depth: 10, rowsScoredMin: 64 }
  const { ids, scores } = await version.candidates.byVector(query, UNLIMITED)
  const best = largest(scores, ids.length).ids.map((at) => ids[at] ?? 0)
  const { chunkRanks } = version.statistics.columns
  const order = [...best].sort(
    (a, b) =>
      (scores[ids.indexOf(b)] ?? 0) - (scores[ids.indexOf(a)] ?? 0) || (chunkRanks[a] ?? 0) - (chunkRanks[b] ?? 0),
  )
  return order.slice(0, 10).map((row) => version.statistics.passage(row).chunk_id)
}

test.each([1, 3])(
  'of the true ten nearest, 0.99 are among the candidates at every selectivity, on %i shards',
  async (shards) => {
    const { remote, rows } = shards === 1 ? one : three
    const random = seededRandom(3)
    for (const filters of FILTERS) {
      let [found, wanted] = [0, 0]
      for (let at = 0; at < 40; at++) {
        const vector = queryNear(rows, Math.floor(random() * ROWS), random)
        const exact = bruteForce(rows, vector, filters, 10).map(({ chunk_id }) => chunk_id)
        const own = await firstTen(remote, vector, filters)
        expect(own).toHaveLength(exact.length)
        found += exact.filter((id) => own.includes(id)).length
        wanted += exact.length
      }
      expect(found / wanted).toBeGreaterThanOrEqual(0.99)
    }
  },
)

test.each([1, 3])('the list by words is the local one, ties included, on %i shards', async (shards) => {
  const { local, remote } = shards === 1 ? one : three
  const random = seededRandom(4)
  for (const filters of FILTERS) {
    for (let at = 0; at < 15; at++) {
      const text = questionOn(Math.floor(random() * 60), random)
      const ask = async (version: SearchableVersion): Promise<readonly number[]> => {
        const question = version.statistics.question(text, filters.languages)
        const { ids } = await version.candidates.byWords({ question, scope: scopeOf(filters), depth: 60 }, UNLIMITED)
        return [...ids]
      }
      expect(await ask(remote)).toEqual(await ask(local))
    }
  }
})

test('both engines decide alike and show the same passages', async () => {
  const random = seededRandom(6)
  let [alike, same] = [0, 0]
  for (let at = 0; at < 100; at++) {
    const input = inputOf({
      text: questionOn(Math.floor(random() * 60), random),
      vector: at % 4 === 0 ? undefined : queryNear(three.rows, Math.floor(random() * ROWS), random),
      limit: 10,
      filters: FILTERS[at % FILTERS.length] ?? EVERYTHING,
    })
    const [own, other] = await Promise.all([
      search(three.local, input, UNLIMITED),
      search(three.remote, input, UNLIMITED),
    ])
    alike += Number(decisionOf(own) === decisionOf(other))
    same += Number(shownOf(own) === shownOf(other))
  }
  expect(alike).toBeGreaterThanOrEqual(99)
  expect(same).toBeGreaterThanOrEqual(99)
})

const decisionOf = (found: SearchResult): string => decideOn(DEFAULT_CALIBRATION, found).decision
const shownOf = ({ passages }: SearchResult): string =>
  JSON.stringify(passages.map(({ chunkId, score }) => [chunkId, score]))

const subset = <T extends string>(...values: readonly T[]): fc.Arbitrary<T[]> =>
  fc.uniqueArray(fc.constantFrom(...values), { maxLength: values.length })

const anyFilters: fc.Arbitrary<Filters> = fc.record({
  languages: subset('de', 'en', 'fr'),
  jurisdictions: subset('XA', 'XB', 'XC'),
  subjects: subset('general', 'fifth', 'hundredth', 'thousandth', 'none'),
  anySubject: fc.boolean(),
  verificationStatuses: subset('verified', 'provisional'),
  inForceOn: fc.constantFrom('', '2022-12-31', '2023-01-01', '2024-06-01', '2024-12-31', '2025-01-01'),
  documents: fc.constant([]),
})

test('no row outside a filter is a candidate, and none inside is missing, under any filters', async () => {
  const random = seededRandom(8)
  await fc.assert(
    fc.asyncProperty(anyFilters, fc.nat(ROWS - 1), fc.constantFrom(0, 2, 3), async (filters, near, leftOut) => {
      const { remote, rows } = three
      const documents = near % 4 === 0 ? [rows[near]?.record.document.id ?? ''] : []
      const asked = { ...filters, documents }
      const onlyRows = leftOut === 0 ? undefined : everyOther(leftOut)
      const allowed = rows.flatMap(({ record }, row) =>
        allows(asked, record) && (leftOut === 0 || row % leftOut !== 0) ? [row] : [],
      )
      const scope = scopeOf(asked, { onlyRows })
      const vector = queryNear(rows, near, random)
      const byVector = await remote.candidates.byVector({ vector, scope, depth: 80, rowsScoredMin: 64 }, UNLIMITED)
      const question = remote.statistics.question(questionOn(near % 60, random), asked.languages)
      const byWords = await remote.candidates.byWords({ question, scope, depth: 80 }, UNLIMITED)
      const inside = new Set(allowed)
      expect([...byVector.ids, ...byWords.ids].filter((row) => !inside.has(row))).toEqual([])
      expect(byVector.ids).toHaveLength(Math.min(80, allowed.length))
    }),
    { numRuns: 100 },
  )
})

/** A bitset without each row that the divisor divides. */
function everyOther(divisor: number): Uint8Array {
  const bits = new Uint8Array(Math.ceil(ROWS / 32) * 4)
  for (let row = 0; row < ROWS; row++)
    if (row % divisor !== 0) bits[row >> 3] = (bits[row >> 3] ?? 0) | (1 << (row & 7))
  return bits
}

test('a reply that needs further rounds is the local one', async () => {
  const { local, remote, rows } = one
  const random = seededRandom(9)
  const change: Partial<SearchInput> = {
    text: questionOn(1, random),
    vector: queryNear(rows, 40, random),
    limit: 40,
    ranking: { ...RANKING, perDocumentMax: 1, collapseRevisionsOn: '2024-12-01' },
  }
  const [own, other] = [
    await search(local, inputOf(change), UNLIMITED),
    await search(remote, inputOf(change), UNLIMITED),
  ]
  expect(own.passages).toHaveLength(40)
  expect(shownOf(other)).toEqual(shownOf(own))
})

test('every copy of a shard gives the same list', async () => {
  const nodes = await nodeIds()
  const { statistics } = one.remote
  const question = statistics.question(questionOn(2, seededRandom(1)), ['en', 'de'])
  const terms = question.words.flatMap(({ hashes }) => hashes.map((hash) => ({ hash, weight: 300 })))
  const body = wordsBody(terms, { filters: EVERYTHING, rows: undefined }, 60)
  const lists = new Set<string>()
  for (const node of nodes) {
    const hits = await searchIndex(preferring(node), one.engine, body, 2_000).catch(() => undefined)
    if (hits !== undefined) lists.add(JSON.stringify(hits.map(({ row }) => row)))
  }
  expect(lists.size).toBe(1)
})

async function nodeIds(): Promise<readonly string[]> {
  const nodes = z.object({ nodes: z.record(z.string(), z.unknown()) })
  return Object.keys((await cluster.client.request({ method: 'GET', path: '/_nodes' }, nodes)).nodes)
}

const preferring = (node: string): TestCluster['client'] => ({
  ...cluster.client,
  request: (request, schema) =>
    cluster.client.request({ ...request, query: { ...request.query, preference: `_only_nodes:${node}` } }, schema),
})

test('a withdrawn passage is no candidate, and others take its place', async () => {
  const { remote, rows } = three
  const vector = queryNear(rows, 77, seededRandom(2))
  const before = await firstTen(remote, vector, EVERYTHING)
  const withdrawn = rows.flatMap(({ record: { chunk_id: chunkId, document } }) =>
    before.indexOf(chunkId) in [0, 1, 2] ? [{ document: document.id, provisions: [], chunkId }] : [],
  )
  expect(withdrawn).toHaveLength(3)
  const query = { vector, scope: scopeOf(EVERYTHING, { withdrawn }), depth: 60, rowsScoredMin: 64 }
  const { ids } = await remote.candidates.byVector(query, UNLIMITED)
  const found = [...ids].map((row) => remote.statistics.passage(row).chunk_id)
  expect(found).toHaveLength(60)
  expect(found.filter((id) => before.slice(0, 3).includes(id))).toEqual([])
})

test('a version with an engine has no file to be searched in, and is verified without them', async () => {
  const { folder, manifest, manifestDigest } = await engineArtifact(
    cluster.client,
    three.rows.slice(0, 50),
    1,
    undefined,
    'small',
  )
  const files = Object.keys(manifest.files)
  expect(files.filter((name) => /postings|sq4|clusters|graph/.test(name))).toEqual([])
  expect(await verifyArtifact(folder, [publicKeyDer], manifestDigest)).toEqual(manifest)
})

test('two versions are searched side by side, and a removed one leaves nothing', async () => {
  const vector = unit(Float32Array.from({ length: DIMENSIONS }, (_, at) => at + 1))
  const other = await engineArtifact(cluster.client, three.rows.slice(0, 200), 1, undefined, 'beside')
  expect(await removeIndexes(cluster.client, other.versionId, other.engine.index)).toBe(0)
  expect(await firstTen(three.remote, vector, EVERYTHING)).toHaveLength(10)
  expect(await removeIndexes(cluster.client, other.versionId)).toBe(1)
  expect(await removeIndexes(cluster.client, other.versionId)).toBe(0)
  expect(await firstTen(three.remote, vector, EVERYTHING)).toHaveLength(10)
})
