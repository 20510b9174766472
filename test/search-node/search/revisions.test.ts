import { describe, expect, inject, test } from 'vitest'
import type { Filters, SearchResult } from '#core/domain/search.ts'
import type { SearchInput } from '#search-node/search/interfaces.ts'
import { EVERYTHING, RANKING, bruteForce } from '#test/support/search.ts'
import { queryNear, seededRandom, testRows, unit } from '#test/support/passages.ts'
import { openCorpus } from '#test/support/fixtures.ts'

const { seed } = inject('random')
const DOCUMENTS = 30
const REVISIONS = 5
/** Two to a document, each in five revisions that follow each other year by year. */
const PROVISIONS = DOCUMENTS * 2
const FIRST_YEAR = 2020

const random = seededRandom(seed)
const yearOf = (n: number): number => FIRST_YEAR + (n % REVISIONS)
const provisionOf = (n: number): number => Math.floor(n / REVISIONS)
const centres = Array.from({ length: PROVISIONS }, () => Float32Array.from({ length: 16 }, () => random()))
const rows = testRows({
  rows: PROVISIONS * REVISIONS,
  dimensions: 16,
  seed,
  traits: (n) => ({
    provision: `provision ${provisionOf(n)}`,
    revision: String(yearOf(n)),
    inForceFrom: `${yearOf(n)}-01-01`,
    inForceTo: `${yearOf(n) + 1}-01-01`,
    text: `The keeper of hives counts every swarm of colony ${provisionOf(n)}${', as amended'.repeat(n % REVISIONS)}.`,
  }),
}).map(({ record }) => {
  const centre = centres[Number(record.provision.split(' ')[1])] ?? new Float32Array(16)
  return { record, vector: unit(centre.map((value) => value + (random() - 0.5) * 0.05)) }
})
const corpus = await openCorpus({ rows })

const ask = (change: Partial<SearchInput>): Promise<SearchResult> => corpus.ask(change)
const provisionsOf = ({ passages }: SearchResult): string[] =>
  passages.map(({ row }) => rows[row]?.record.provision ?? '')
const on = (day: string): SearchInput['ranking'] => ({ ...RANKING, collapseRevisionsOn: day })
const chunkIds = ({ passages }: SearchResult): string[] => passages.map(({ chunkId }) => chunkId)
const TEXT = 'Who counts every swarm of the colony?'

function queries(count: number): Float32Array[] {
  const drawn = seededRandom(seed + 1)
  return Array.from({ length: count }, () => queryNear(rows, Math.floor(drawn() * rows.length), drawn))
}

describe('where no day narrows the passages', () => {
  test.each(['2020-01-01', '2022-06-01', '2024-12-31'])(
    'each provision shows once, in the revision in force on %s, and every place is filled',
    async (day) => {
      const inForce: Filters = { ...EVERYTHING, inForceOn: day }
      for (const vector of queries(5)) {
        for (const limit of [5, PROVISIONS]) {
          const reply = await ask({ vector, limit, ranking: on(day) })
          expect(chunkIds(reply)).toEqual(bruteForce(rows, vector, inForce, limit).map(({ chunk_id }) => chunk_id))
          expect(new Set(provisionsOf(reply)).size).toBe(limit)
        }
      }
    },
  )

  test('words collapse alike, alone and with a vector', async () => {
    const [vector] = queries(1)
    for (const change of [{}, { vector }]) {
      const reply = await ask({ text: TEXT, limit: rows.length / 2, ranking: on('2023-06-01'), ...change })
      expect(new Set(provisionsOf(reply)).size).toBe(PROVISIONS)
      expect(reply.passages).toHaveLength(PROVISIONS)
      for (const { row } of reply.passages) expect(rows[row]?.record.in_force_from).toBe('2023-01-01')
    }
  })

  test('a provision without a revision in force on the day shows once, in its best one', async () => {
    for (const vector of queries(5)) {
      const firstOfEach = new Map<string, string>()
      for (const { chunk_id } of bruteForce(rows, vector, EVERYTHING, rows.length)) {
        const provision = rows.find(({ record }) => record.chunk_id === chunk_id)?.record.provision ?? ''
        if (!firstOfEach.has(provision)) firstOfEach.set(provision, chunk_id)
      }
      expect(chunkIds(await ask({ vector, limit: 12, ranking: on('2031-01-01') }))).toEqual(
        [...firstOfEach.values()].slice(0, 12),
      )
    }
  })

  test('more places than provisions are filled as far as there are provisions', async () => {
    expect(
      (await ask({ vector: queries(1)[0], limit: PROVISIONS + 20, ranking: on('2022-06-01') })).passages,
    ).toHaveLength(PROVISIONS)
  })

  test('every revision shows if nothing is to be collapsed', async () => {
    for (const vector of queries(5)) {
      const reply = await ask({ vector, limit: 10 })
      expect(chunkIds(reply)).toEqual(bruteForce(rows, vector, EVERYTHING, 10).map(({ chunk_id }) => chunk_id))
      expect(new Set(provisionsOf(reply)).size).toBeLessThan(10)
    }
  })
})

test('a day that narrows the passages and collapses them gives what narrowing alone gives', async () => {
  const filters = { ...EVERYTHING, inForceOn: '2021-03-01' }
  for (const vector of queries(5)) {
    const [narrowed, both] = await Promise.all(
      [RANKING, on('2021-03-01')].map((ranking) => ask({ vector, text: TEXT, filters, limit: 20, ranking })),
    )
    expect(both).toEqual(narrowed)
  }
})

describe('of one document', () => {
  /** What the cap leaves of all passages in order. */
  function capped(vector: Float32Array, most: number): string[] {
    const counts = new Map<string, number>()
    return bruteForce(rows, vector, EVERYTHING, rows.length).flatMap(({ chunk_id }) => {
      const id = rows.find(({ record }) => record.chunk_id === chunk_id)?.record.document.id ?? ''
      counts.set(id, (counts.get(id) ?? 0) + 1)
      return (counts.get(id) ?? 0) > most ? [] : [chunk_id]
    })
  }

  test.each([1, 2, 7])(
    'no more than %i passages are served, the best ones, and the places left go to other documents',
    async (most) => {
      for (const vector of queries(4))
        for (const limit of [5, DOCUMENTS * most + 1])
          expect(
            chunkIds(await ask({ vector, limit: Math.min(limit, 200), ranking: { ...RANKING, perDocumentMax: most } })),
          ).toEqual(capped(vector, most).slice(0, Math.min(limit, 200)))
    },
  )

  test('the cap counts after revisions collapse', async () => {
    for (const vector of queries(4)) {
      const { passages } = await ask({ vector, limit: PROVISIONS, ranking: { ...on('2022-06-01'), perDocumentMax: 2 } })
      expect(passages).toHaveLength(PROVISIONS)
    }
  })
})
