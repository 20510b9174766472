import { describe, expect, inject, test } from 'vitest'
import type { ArtifactRow } from '#core/index/format/writer.ts'
import { SEARCH_BOUNDS } from '#core/domain/bounds.ts'
import { SEARCH_NODE_BOUNDS } from '#search-node/bounds.ts'
import type { Filters as TestFilters, FoundPassage } from '#core/domain/search.ts'
import { createScopeFilter } from '#search-node/search/candidates/filter-bitset.ts'
import { createIndexVersion } from '#search-node/search/index-version.ts'
import { search } from '#search-node/search/pipeline.ts'
import { openCorpus } from '#test/support/fixtures.ts'
import { EVERYTHING, RANKING, UNLIMITED, allows, bruteForce, inputOf, type Searchable } from '#test/support/search.ts'
import { queryNear, seededRandom, shownPassage, testRows, unit, type PassageTraits } from '#test/support/passages.ts'

const { seed } = inject('random')

/**
 * Share of the true best five that a search returns, over queries near random rows; asserts all else that a reply
 * promises.
 */
async function recallAt5({ ask }: Searchable, rows: readonly ArtifactRow[], filters: TestFilters, queries = 60) {
  const random = seededRandom(seed + 1)
  const allowed = rows.filter(({ record }) => allows(filters, record)).length
  const plans = new Set<string>()
  let [hits, possible] = [0, 0]
  for (let n = 0; n < queries; n++) {
    const query = queryNear(rows, Math.floor(random() * rows.length), random)
    const best = bruteForce(rows, query, filters, 5)
    const reply = await ask({ vector: query.map((value) => value * 3), filters })
    plans.add(reply.plan)
    expect(reply.allowed).toBe(allowed)
    expect(reply.passages).toHaveLength(Math.min(5, allowed))
    let cosine = 1
    for (const [at, passage] of reply.passages.entries()) {
      const truth = rows.find(({ record }) => record.chunk_id === passage.chunkId)
      if (truth === undefined) throw new Error(`no such passage ${passage.chunkId}`)
      expect(allows(filters, truth.record)).toBe(true)
      const [own] = bruteForce([truth], query, filters, 1)
      expect(own?.score).toBeLessThanOrEqual(cosine + 1e-5)
      cosine = own?.score ?? Number.NaN
      expect(passage.score).toBeLessThanOrEqual(reply.passages[at - 1]?.score ?? 1)
    }
    const found = new Set(reply.passages.map(({ chunkId }) => chunkId))
    hits += best.filter(({ chunk_id }) => found.has(chunk_id)).length
    possible += best.length
  }
  return { recall: possible === 0 ? 1 : hits / possible, plans }
}

describe('a version with every kind of facet', async () => {
  const traits = (n: number): PassageTraits => ({
    language: n % 3 === 0 ? 'de' : 'en',
    jurisdiction: n % 2 === 0 ? 'XA' : 'XB',
    subjects: n % 5 === 0 ? [] : n % 7 === 0 ? ['tax', 'audit'] : ['tax'],
    status: n % 11 === 0 ? 'provisional' : 'verified',
    inForceFrom: n % 4 === 0 ? '2025-01-01' : '2020-01-01',
    inForceTo: n % 4 === 1 ? '2025-01-01' : null,
  })
  const rows = testRows({ rows: 1_500, dimensions: 16, seed, traits })
  const corpus = await openCorpus({ rows })

  test.each<[string, Partial<TestFilters>]>([
    ['one language', { languages: ['de'] }],
    ['language and jurisdiction', { languages: ['en'], jurisdictions: ['XB'] }],
    ['a subject', { anySubject: false, subjects: ['audit'] }],
    ['alternative subjects', { anySubject: false, subjects: ['audit', 'tax'] }],
    ['provisional passages', { verificationStatuses: ['provisional', 'verified'] }],
    ['the day before a revision begins', { inForceOn: '2024-12-31' }],
    ['the day on which one revision ends and another begins', { inForceOn: '2025-01-01' }],
    ['a day before anything was in force', { inForceOn: '2019-12-31' }],
    [
      'everything at once',
      { languages: ['de'], jurisdictions: ['XA'], anySubject: false, subjects: ['audit'], inForceOn: '2025-06-01' },
    ],
    ['no subject at all', { anySubject: false, subjects: [] }],
    ['a value that the version does not hold', { languages: ['fr'] }],
    ['nothing, because a list is empty', { jurisdictions: [] }],
  ])('%s: exactly the allowed passages are served', async (_, filters) => {
    expect((await recallAt5(corpus, rows, { ...EVERYTHING, ...filters }, 15)).recall).toBe(1)
  })

  test('a limit above the number of allowed passages returns all of them', async () => {
    const filters = { ...EVERYTHING, languages: ['de'], anySubject: false, subjects: ['audit'] }
    const allowed = rows.filter(({ record }) => allows(filters, record)).length
    const reply = await corpus.ask({
      vector: queryNear(rows, 3, seededRandom(1)),
      limit: SEARCH_BOUNDS.searchLimitMax,
      filters,
    })
    expect(allowed).toBeLessThan(SEARCH_BOUNDS.searchLimitMax)
    expect(reply.passages).toHaveLength(allowed)
  })

  test('the largest limit is filled in full', async () => {
    const query = queryNear(rows, 3, seededRandom(1))
    const reply = await corpus.ask({
      vector: query,
      limit: SEARCH_BOUNDS.searchLimitMax,
      ranking: { ...RANKING, rowsScoredMin: 1 },
    })
    const best = new Set(
      bruteForce(rows, query, EVERYTHING, SEARCH_BOUNDS.searchLimitMax).map(({ chunk_id }) => chunk_id),
    )
    expect(reply.passages).toHaveLength(SEARCH_BOUNDS.searchLimitMax)
    expect(reply.passages.filter(({ chunkId }) => best.has(chunkId)).length).toBeGreaterThanOrEqual(98)
  })

  test('a passage has its text, document, citation, metadata, place, row and identifier in the source', async () => {
    const row = rows.findIndex(({ record }) => allows(EVERYTHING, record))
    const target = rows[row]
    if (target === undefined) throw new Error('no allowed row')
    const [found] = (await corpus.ask({ vector: target.vector.slice(), limit: 1 })).passages
    expect(found).toEqual({ ...shownPassage(target.record), row, named: false, score: expect.any(Number) })
  })

  test('more filters than are kept at once give the same results as before', async () => {
    const query = queryNear(rows, 8, seededRandom(2))
    const version = createIndexVersion(corpus.mapping)
    const passagesOn = async (filters: TestFilters): Promise<readonly FoundPassage[]> =>
      (await search(version, inputOf({ vector: query, filters }), UNLIMITED)).passages
    const days = Array.from({ length: SEARCH_NODE_BOUNDS.filterCacheEntriesMax + 20 }, (_, day) => ({
      ...EVERYTHING,
      inForceOn: new Date(Date.UTC(2024, 10, day + 1)).toISOString().slice(0, 10),
    }))
    const before = await Promise.all(days.map(passagesOn))
    expect(await Promise.all(days.map(passagesOn))).toEqual(before)
    const filter = createScopeFilter(corpus.mapping)
    for (const filters of days) filter.ofFilters(filters)
    expect(filter.cachedFilters).toBe(SEARCH_NODE_BOUNDS.filterCacheEntriesMax)
  })
})

test('passages with one vector are all equal in score and come in the order of their ids', async () => {
  const vector = new Float32Array(16).fill(0.25)
  const rows = testRows({ rows: 40, dimensions: 16, seed }).map(({ record }) => ({ record, vector }))
  const { ask } = await openCorpus({ rows })
  const { passages } = await ask({ vector: vector.slice(), limit: 40 })
  expect(passages.map(({ chunkId }) => chunkId)).toEqual(rows.map(({ record }) => record.chunk_id).sort())
  expect(new Set(passages.map(({ score }) => score)).size).toBe(1)
})

test('vectors whose weight lies in few dimensions survive rounding to int8', async () => {
  const random = seededRandom(seed)
  const spiky = (): Float32Array =>
    Float32Array.from({ length: 128 }, () => (random() < 0.03 ? (random() - 0.5) * 40 : (random() - 0.5) * 0.6))
  const rows = testRows({
    rows: 2_000,
    dimensions: 128,
    seed,
    traits: (n) => ({ language: n % 10 === 0 ? 'de' : 'en' }),
  }).map(({ record }) => ({ record, vector: unit(spiky()) }))
  const { recall, plans } = await recallAt5(await openCorpus({ rows }), rows, { ...EVERYTHING, languages: ['de'] })
  expect(recall).toBeGreaterThanOrEqual(0.98)
  expect([...plans]).toEqual(['scan'])
})
