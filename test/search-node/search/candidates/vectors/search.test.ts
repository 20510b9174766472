import { afterAll, describe, expect, inject, test } from 'vitest'
import type { ArtifactRow } from '#core/index/format/writer.ts'
import { SEARCH_NODE_BOUNDS } from '#search-node/bounds.ts'
import { filterBitset } from '#search-node/search/candidates/filter-bitset.ts'
import { PLAN_COSTS, type PlanCosts } from '#search-node/search/candidates/vectors/probe.ts'
import { nearestRows } from '#search-node/search/candidates/vectors/search.ts'
import { artifactRef, openIndex, type IndexReader } from '#core/index/format/reader.ts'
import { EVERYTHING, allows, bruteForce } from '#test/support/search.ts'
import { buildTestArtifact, vectorsOf, type TestArtifact } from '#test/support/artifact.ts'
import { queryNear, seededRandom, testRows, unit, type PassageTraits } from '#test/support/passages.ts'
import type { Filters as TestFilters } from '#core/domain/search.ts'
import { folderOfFile } from '#test/support/folder.ts'

const { seed } = inject('random')

const LIMIT = 10
const EXPANSION_MIN = 64
/** A scan of all allowed rows never costs more. */
const SCAN_FIRST: PlanCosts = { ...PLAN_COSTS, listsNs: () => Number.MAX_VALUE }
const LISTS_FIRST: PlanCosts = { ...PLAN_COSTS, scanNs: () => Number.MAX_VALUE }

function open({ folder, manifest }: TestArtifact): IndexReader {
  const mapping = openIndex(artifactRef(folder, manifest))
  afterAll(() => mapping.close())
  return mapping
}
const store = folderOfFile()

const about = (subjects: readonly string[]): TestFilters => ({ ...EVERYTHING, anySubject: false, subjects })

function nearest(
  mapping: IndexReader,
  query: Float32Array,
  filters: TestFilters,
  { limit = LIMIT, costs = PLAN_COSTS }: { readonly limit?: number; readonly costs?: PlanCosts } = {},
) {
  const allowed = filterBitset(filters, mapping.passages, mapping.facets)
  const { plan, ids, scores } = nearestRows(mapping, vectorsOf(mapping), query, allowed, limit, EXPANSION_MIN, costs)
  const found = Array.from(ids, (row, at) => ({ score: scores[at] ?? 0, chunkId: mapping.passage(row).chunk_id }))
  const order = found.sort((a, b) => b.score - a.score || (a.chunkId < b.chunkId ? -1 : 1))
  return { plan, chunkIds: order.slice(0, limit).map(({ chunkId }) => chunkId) }
}

/**
 * Recall@10 against brute force: the share of the ten found that score no less than the true tenth, so that any order
 * of equals is right. Asserts that every row is allowed and that there are as many as there can be.
 */
function recallOf(
  mapping: IndexReader,
  rows: readonly ArtifactRow[],
  filtersOf: (nearRow: number) => TestFilters,
  { queries = 20, costs = PLAN_COSTS }: { readonly queries?: number; readonly costs?: PlanCosts } = {},
): { readonly recall: number; readonly plans: ReadonlySet<string> } {
  const random = seededRandom(seed + 1)
  const plans = new Set<string>()
  let [hits, possible] = [0, 0]
  for (let n = 0; n < queries; n++) {
    const row = Math.floor(random() * rows.length)
    const query = queryNear(rows, row, random)
    const ranked = bruteForce(rows, query, filtersOf(row), rows.length)
    const best = ranked.slice(0, LIMIT)
    const { plan, chunkIds } = nearest(mapping, query, filtersOf(row), { costs })
    plans.add(plan)
    expect(new Set(chunkIds).size).toBe(best.length)
    const found = ranked.filter(({ chunk_id }) => chunkIds.includes(chunk_id))
    expect(found).toHaveLength(best.length)
    hits += found.filter(({ score }) => score >= (best.at(-1)?.score ?? 0)).length
    possible += best.length
  }
  return { recall: possible === 0 ? 1 : hits / possible, plans }
}

const SHARES = { s100: 1, s50: 0.5, s10: 0.1, s1: 0.01, s01: 0.001, s001: 0.000_5 } as const
const ROWS = 6_000
const CLUSTERS = 100
describe('a version of many rows', async () => {
  const random = seededRandom(seed)
  const subjects = (cluster: number): string[] => [
    ...Object.entries(SHARES).flatMap(([name, share]) => (random() < share ? [name] : [])),
    `topic-${cluster}`,
  ]
  const traits = (_n: number, cluster: number): PassageTraits => ({
    subjects: subjects(cluster),
    language: cluster % 2 === 0 ? 'de' : 'en',
  })
  const rows = testRows({ rows: ROWS, dimensions: 64, seed, clusters: CLUSTERS, spread: 1, traits })
  const artifact = await buildTestArtifact({ store, rows, name: 'many' })
  const mapping = open(artifact)

  /** How far a topic lies after that of a row, around the circle of topics. */
  const stepsAfter = (row: number, topic: number): number => {
    const own = Number(rows[row]?.record.subjects.find((subject) => subject.startsWith('topic-'))?.slice(6))
    return (topic - own + CLUSTERS) % CLUSTERS
  }
  const topics = (wanted: (topic: number) => boolean): string[] =>
    Array.from({ length: CLUSTERS }, (_, topic) => topic)
      .filter(wanted)
      .map((topic) => `topic-${topic}`)

  describe.each([
    ['by a scan', SCAN_FIRST],
    ['by its lists', LISTS_FIRST],
  ])('searched %s', (_way, costs) => {
    test.each(Object.keys(SHARES))(
      'finds the true best ten where the filter %s allows passages at random',
      (subject) => {
        expect(recallOf(mapping, rows, () => about([subject]), { costs }).recall).toBeGreaterThanOrEqual(0.98)
      },
    )

    test.each([1, 5, 25, 50])(
      'finds the true best ten where a filter keeps the topic of the query among %i of a hundred',
      (kept) => {
        const filters = (row: number): TestFilters => about(topics((topic) => stepsAfter(row, topic) < kept))
        expect(recallOf(mapping, rows, filters, { costs }).recall).toBeGreaterThanOrEqual(0.98)
      },
    )

    test.each([1, 5, 25, 50, 99])(
      'finds the true best ten where a filter excludes the topic of the query and keeps %i of a hundred',
      (kept) => {
        const isKept = (steps: number): boolean => steps > 0 && steps <= kept
        const filters = (row: number): TestFilters => about(topics((topic) => isKept(stepsAfter(row, topic))))
        expect(recallOf(mapping, rows, filters, { costs }).recall).toBeGreaterThanOrEqual(0.98)
      },
    )

    test('few allowed rows are scored one by one', () => {
      expect([...recallOf(mapping, rows, () => about(['s01']), { queries: 5, costs }).plans]).toEqual(['exact'])
    })

    test('some hundreds of allowed rows are all scanned, whatever the costs', () => {
      expect([...recallOf(mapping, rows, () => about(['s10']), { queries: 5, costs }).plans]).toEqual(['scan'])
    })

    test('of many, all are scanned if that costs less, else those in the lists near the query', () => {
      const { plans } = recallOf(mapping, rows, () => EVERYTHING, { queries: 5, costs })
      expect([...plans]).toEqual([costs === LISTS_FIRST ? 'ivf' : 'scan'])
    })

    test('where the filter excludes the neighbourhood of the query, all allowed rows are scanned', () => {
      const far = (row: number): TestFilters => about(topics((topic) => stepsAfter(row, topic) >= 50))
      const { recall, plans } = recallOf(mapping, rows, far, { queries: 20, costs })
      expect(recall).toBeGreaterThanOrEqual(0.98)
      expect(plans).toContain('scan')
    })

    test('a limit near the number of allowed rows is filled in full', () => {
      const filters = { ...EVERYTHING, languages: ['de'] }
      const allowed = rows.filter(({ record }) => allows(filters, record)).length
      const query = queryNear(rows, 7, seededRandom(seed))
      for (const limit of [allowed - 1, allowed, allowed + 1])
        expect(nearest(mapping, query, filters, { limit, costs }).chunkIds).toHaveLength(Math.min(limit, allowed))
    })

    test.each([1, 50, 51, 200])('a search for %i rows keeps as many, or as many as predictors look at', (limit) => {
      const allowed = filterBitset(EVERYTHING, mapping.passages, mapping.facets)
      const { ids } = nearestRows(
        mapping,
        vectorsOf(mapping),
        queryNear(rows, 7, seededRandom(seed)),
        allowed,
        limit,
        EXPANSION_MIN,
        costs,
      )
      expect(ids).toHaveLength(Math.max(limit, SEARCH_NODE_BOUNDS.predictorCandidatesMax))
    })

    test('the same search gives the same rows on another mapping', () => {
      const other = open(artifact)
      const query = queryNear(rows, 11, seededRandom(seed))
      expect(nearest(other, query, EVERYTHING, { costs })).toEqual(nearest(mapping, query, EVERYTHING, { costs }))
      other.close()
    })

    test.each([1, 3, 40])('%i documents: exactly their passages are allowed', (count) => {
      const ids = [...new Set(rows.map(({ record }) => record.document.id))]
        .filter((_, at) => at % 7 === 0)
        .slice(0, count)
      const filters = { ...EVERYTHING, documents: [...ids, '00000000-0000-4000-8000-000000000000'] }
      const allowed = filterBitset(filters, mapping.passages, mapping.facets)
      expect(allowed.count).toBe(rows.filter(({ record }) => ids.includes(record.document.id)).length)
      expect(recallOf(mapping, rows, () => filters, { queries: 10, costs }).recall).toBe(1)
    })

    test('a document that the version does not hold, or that is no id, allows nothing', () => {
      const missing = ['00000000-0000-4000-8000-000000000000', 'ffffffff-ffff-4fff-8fff-ffffffffffff', 'no id', '']
      for (const id of missing)
        expect(filterBitset({ ...EVERYTHING, documents: [id] }, mapping.passages, mapping.facets).count).toBe(0)
    })
  })
})

/** Vectors as embedding models produce them: most variance lies in few directions that are not axes. */
function lowRank(random: () => number, dimensions: number, clusters: number): (cluster: number) => Float32Array {
  const rank = 24
  const gaussian = (): number => Array.from({ length: 6 }, random).reduce((sum, value) => sum + value - 0.5, 0)
  const basis = Float32Array.from({ length: rank * dimensions }, gaussian)
  const centres = Float32Array.from({ length: clusters * rank }, gaussian)
  return (cluster) => {
    const latent = Array.from(
      { length: rank },
      (_, at) => (centres[cluster * rank + at] ?? 0) + gaussian() * 0.5 + (at === 0 ? 3 : 0),
    )
    return unit(
      Float32Array.from({ length: dimensions }, (_, d) =>
        latent.reduce((sum, value, at) => sum + value * (basis[at * dimensions + d] ?? 0), gaussian() * 0.6),
      ),
    )
  }
}

describe('a version whose vectors differ in few directions', async () => {
  const random = seededRandom(seed)
  const draw = lowRank(random, 256, 60)
  const traits = (_n: number, cluster: number): PassageTraits => ({
    language: cluster % 2 === 0 ? 'de' : 'en',
    subjects: [`topic-${cluster % 20}`],
  })
  const rows = testRows({ rows: 5_000, dimensions: 8, seed, clusters: 60, traits }).map(({ record }) => ({
    record,
    vector: draw(Number(record.subjects[0]?.slice(6)) + 20 * Math.floor(random() * 3)),
  }))
  const mapping = open(await buildTestArtifact({ store, rows, name: 'low rank' }))

  test.each<[string, TestFilters]>([
    ['no filter', EVERYTHING],
    ['half of the topics', { ...EVERYTHING, languages: ['en'] }],
    ['one topic', about(['topic-3'])],
    ['few topics', about(['topic-3', 'topic-4', 'topic-5', 'topic-6'])],
  ])('finds the true best ten under %s, by a scan and by lists', (_, filters) => {
    for (const costs of [PLAN_COSTS, LISTS_FIRST])
      expect(recallOf(mapping, rows, () => filters, { costs }).recall).toBeGreaterThanOrEqual(0.98)
  })
})

test('vectors without neighbourhoods are scanned, and the true best ten are found among them', async () => {
  const random = seededRandom(seed)
  const sparse = (): Float32Array =>
    Float32Array.from({ length: 256 }, () => (random() < 0.04 ? random() - 0.5 : 0.000_1))
  const rows = testRows({ rows: 4_500, dimensions: 256, seed }).map(({ record }) => ({
    record,
    vector: unit(sparse()),
  }))
  const mapping = open(await buildTestArtifact({ store, rows, name: 'sparse' }))
  const { recall, plans } = recallOf(mapping, rows, () => EVERYTHING)
  expect([...plans]).toEqual(['scan'])
  expect(recall).toBeGreaterThanOrEqual(0.99)
  mapping.close()
})

test.each([
  ['by a scan', SCAN_FIRST],
  ['by lists', LISTS_FIRST],
])('of many rows that are equally near, those of the first chunk ids are found %s', async (name, costs) => {
  const rows = testRows({ rows: 3_000, dimensions: 16, seed }).map(({ record }, at) => ({
    record,
    vector: unit(Float32Array.from({ length: 16 }, (_, d) => (at % 2 === 0 ? 1 : d + 1))),
  }))
  const mapping = open(await buildTestArtifact({ store, rows, name: `ties ${name}` }))
  const first = rows
    .filter((_, at) => at % 2 === 0)
    .map(({ record }) => record.chunk_id)
    .sort()
  const { chunkIds } = nearest(mapping, unit(new Float32Array(16).fill(1)), EVERYTHING, { costs })
  expect(chunkIds).toEqual(first.slice(0, LIMIT))
  mapping.close()
})
