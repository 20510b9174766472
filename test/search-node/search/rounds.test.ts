import { describe, expect, inject, test } from 'vitest'
import { rowOrder } from '#core/index/format/row-checks.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'
import type { SearchResult } from '#core/domain/search.ts'
import type { CallDeadline } from '#search-node/node-error.ts'
import { createIndexVersion } from '#search-node/search/index-version.ts'
import type { SearchableVersion, SearchInput } from '#search-node/search/interfaces.ts'
import { search } from '#search-node/search/pipeline.ts'
import { derivedUuid } from '#core/platform/ids.ts'
import { largest } from '#core/index/top-k.ts'
import { EVERYTHING, RANKING, UNLIMITED, inputOf } from '#test/support/search.ts'
import { queryNear, seededRandom, testRows } from '#test/support/passages.ts'
import { openCorpus } from '#test/support/fixtures.ts'

const { seed } = inject('random')
const ROWS = 2_000
/** One document holds all rows from here on. */
const LARGE_FROM = 40
const LARGE = derivedUuid('test document', 'large')
/** One provision, of which no revision is in force on the day, holds all rows from here on. */
const REVISED_FROM = 1_000
const DAY = '2030-01-01'
const TEXT = 'Who keeps the common register of rules?'

const rows = testRows({ rows: ROWS, dimensions: 16, seed, traits: (n) => ({ text: `As rule ${n}.` }) })
  .map(({ record, vector }, n) => ({ record: recordOf(record, n), vector }))
  .sort((a, b) => rowOrder(a.record, b.record))
const corpus = await openCorpus({ rows })

function recordOf(record: PassageRecord, n: number): PassageRecord {
  if (n < LARGE_FROM) return record
  const document = { ...record.document, id: LARGE }
  const text = `The common register. ${record.text}`
  if (n < REVISED_FROM) return { ...record, text, document }
  return { ...record, text, document, provision: 'revised', in_force_from: '2020-01-01', in_force_to: '2021-01-01' }
}

/**
 * A search over a source that counts what it is asked for; its vectors are searched exactly.
 * @param limits of the search, not of the source.
 */
async function counted(change: Partial<SearchInput>, limits: CallDeadline = UNLIMITED) {
  const { candidates, statistics } = createIndexVersion(corpus.mapping)
  const depths = { words: [] as number[], vectors: [] as number[] }
  const version: SearchableVersion = {
    statistics,
    candidates: {
      byReference: (query) => candidates.byReference(query, UNLIMITED),
      byQueryExpansions: (query) => candidates.byQueryExpansions(query, UNLIMITED),
      byWords(query) {
        depths.words.push(query.depth)
        return candidates.byWords(query, UNLIMITED)
      },
      byVector(query) {
        depths.vectors.push(query.depth)
        const { has } = statistics.rowsInScope(query.scope)
        const allowed = Uint32Array.from(rows.keys()).filter((row) => has(row))
        const cosines = statistics.cosines(allowed, query.vector)
        const best = largest(cosines, query.depth).ids.sort()
        return Promise.resolve({
          plan: 'exact',
          ids: best.map((at) => allowed[at] ?? 0),
          scores: Float64Array.from(best, (at) => cosines[at] ?? 0),
        })
      },
    },
  }
  return { result: await search(version, inputOf(change), limits), depths }
}

const vectorOf = (n: number): Float32Array => queryNear(rows, n, seededRandom(seed + n))
const ids = ({ passages }: SearchResult): string[] => passages.map(({ chunkId }) => chunkId)

/** The nearest passages, of each document at most the cap, of each provision the first; in the order of a reply. */
function greedy(vector: Float32Array, limit: number, perDocumentMax: number, collapses: boolean): string[] {
  const [ofDocument, provisions] = [new Map<string, number>(), new Set<string>()]
  const shown = rows
    .map((row) => ({ id: row.record.chunk_id, record: row.record, score: cosine(row.vector, vector) }))
    .sort((a, b) => b.score - a.score)
    .filter(({ record: { document, provision } }) => {
      const before = ofDocument.get(document.id) ?? 0
      if ((collapses && provisions.has(provision)) || (perDocumentMax > 0 && before === perDocumentMax)) return false
      ofDocument.set(document.id, before + 1)
      provisions.add(provision)
      return true
    })
    .slice(0, limit)
  return shown
    .map(({ id, score }) => ({ id, score: Math.max(0, score) }))
    .sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1))
    .map(({ id }) => id)
}

function cosine(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0)
}

const capped = { ...RANKING, perDocumentMax: 3 }

describe('a search whose candidates are of one document with a cap', () => {
  const inDocument = { ...EVERYTHING, documents: [LARGE] }

  test('asks for candidates once if the filters allow no other document', async () => {
    for (const change of [{ vector: vectorOf(500) }, { text: TEXT }, { vector: vectorOf(700), text: TEXT }]) {
      const { result, depths } = await counted({ ...change, filters: inDocument, ranking: capped })
      expect(result.passages).toHaveLength(3)
      expect(Math.max(depths.words.length, depths.vectors.length)).toBe(1)
      expect(Math.max(...depths.words, ...depths.vectors)).toBeLessThanOrEqual(50)
    }
  })

  test('asks for few more to fill the reply with other documents', async () => {
    for (const change of [{ vector: vectorOf(500) }, { text: TEXT }, { vector: vectorOf(700), text: TEXT }]) {
      const { result, depths } = await counted({ ...change, ranking: capped })
      expect(result.passages).toHaveLength(5)
      expect(depths.vectors.reduce((sum, depth) => sum + depth, 0)).toBeLessThanOrEqual(50)
      expect(depths.words.reduce((sum, depth) => sum + depth, 0)).toBeLessThanOrEqual(100)
    }
  })

  test('and whose deadline passes after the first candidates ends before the next', async () => {
    let asked = 0
    const limits: CallDeadline = {
      signal: UNLIMITED.signal,
      get deadlineMs() {
        asked += 1
        return 0
      },
    }
    await expect(counted({ text: TEXT, ranking: capped }, limits)).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' })
    expect(asked).toBe(1)
  })
})

test('the list by vectors is what brute force shows under caps and collapsed revisions, in few rounds', async () => {
  for (const perDocumentMax of [0, 1, 3]) {
    for (const [at, limit] of [1, 5, 20, 60].entries()) {
      for (const collapses of [false, true]) {
        const vector = vectorOf(at * 400 + 100)
        const ranking = { ...RANKING, perDocumentMax, collapseRevisionsOn: collapses ? DAY : '' }
        const { result, depths } = await counted({ vector, limit, ranking })
        expect(ids(result)).toEqual(greedy(vector, limit, perDocumentMax, collapses))
        expect(depths.vectors.length).toBeLessThanOrEqual(4)
      }
    }
  }
})

test('words that a few passages hold are asked for once, however many passages are wanted', async () => {
  const { result, depths } = await counted({ text: 'rule 77 rule 78', limit: 100 })
  expect(result.passages.length).toBeGreaterThan(0)
  expect(depths.words).toHaveLength(1)
})
