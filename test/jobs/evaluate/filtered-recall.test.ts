import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { FILTER_KINDS, SELECTIVITIES, leastRecall, measureFilteredRecall } from '#jobs/evaluate/filtered-recall.ts'
import type { FilterKind, FilteredRecall, FilteredRecallInput } from '#jobs/evaluate/filtered-recall.ts'
import { filteredRecallOf } from '#jobs/evaluate/filtered-questions.ts'
import { seededRandom, unit } from '#test/support/artifact.ts'
import { asking, found } from '#test/support/jobs/asking.ts'
import { spaceOf } from '#test/support/embedding-space.ts'

const DIMENSIONS = 8

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'filtered-recall-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

type Vectors = readonly Float32Array[]

function randomVectors(count: number, seed: number): Vectors {
  const random = seededRandom(seed)
  return Array.from({ length: count }, () => unit(Float32Array.from({ length: DIMENSIONS }, () => random() - 0.5)))
}

function stored(vectors: Vectors): void {
  writeFileSync(join(folder, 'vectors.f32'), Buffer.concat(vectors.map((vector) => Buffer.from(vector.slice().buffer))))
}

function similarity(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0)
}

const isSet = (bits: Uint8Array, row: number): boolean => ((bits[row >>> 3] ?? 0) & (1 << (row & 7))) !== 0

/** The best rows by brute force of those that may be found. */
function bestRows(
  vectors: Vectors,
  query: Float32Array,
  may: (row: number) => boolean,
  limit: number,
): readonly number[] {
  const scores = vectors.map((vector) => similarity(vector, query))
  return [...vectors.keys()]
    .filter(may)
    .sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0))
    .slice(0, limit)
}

function measured(
  vectors: Vectors,
  queries: Vectors,
  find: FilteredRecallInput['find'],
  change: Partial<FilteredRecallInput> = {},
): Promise<FilteredRecall> {
  return measureFilteredRecall({
    artifactFolder: folder,
    rows: vectors.length,
    dimensions: DIMENSIONS,
    queries,
    find,
    signal: new AbortController().signal,
    onProgress: () => undefined,
    ...change,
  })
}

const everywhere = (value: number): FilteredRecall => {
  const recall = Object.fromEntries(SELECTIVITIES.map((name) => [name, value]))
  return { random: recall, near: recall, far: recall }
}

describe('filtered recall', () => {
  // More rows than one block of the file.
  const vectors = randomVectors(5_000, 1)
  const queries = randomVectors(3, 2)

  test('is 1 everywhere for a search that finds the best allowed rows', async () => {
    stored(vectors)
    const exact: FilteredRecallInput['find'] = async (query, bits, limit) =>
      await Promise.resolve(bestRows(vectors, query, (row) => isSet(bits, row), limit))
    expect(await measured(vectors, queries, exact)).toEqual(everywhere(1))
  })

  test(
    'falls with the selectivity for a search that filters what it found without, and to nothing where ' +
      'the neighbourhood is excluded',
    async () => {
      stored(vectors)
      const recall = await measured(
        vectors,
        queries,
        async (query, _, limit) => await Promise.resolve(bestRows(vectors, query, () => true, limit)),
      )
      expect(recall.near).toEqual(everywhere(1).near)
      expect([recall.random[100], recall.far[100]]).toEqual([1, 1])
      expect([recall.far[50], recall.far[1]]).toEqual([0, 0])
      expect(recall.random[50]).toBeLessThan(0.9)
      expect(recall.random[50]).toBeGreaterThan(0.1)
      expect(recall.random[0.1]).toBeLessThan(0.2)
    },
  )

  test('is 0 for a search that finds the worst allowed rows, where there are others', async () => {
    stored(vectors)
    const worst = await measured(
      vectors,
      queries,
      async (query, bits, limit) =>
        await Promise.resolve(
          bestRows(
            vectors,
            query.map((value) => -value),
            (row) => isSet(bits, row),
            limit,
          ),
        ),
    )
    for (const kind of FILTER_KINDS) expect([worst[kind][100], worst[kind][1]]).toEqual([0, 0])
  })

  test('counts the share of the ten best that is found, however often a row comes', async () => {
    stored(vectors)
    const some: FilteredRecallInput['find'] = async (query, bits, limit) => {
      const best = bestRows(vectors, query, (row) => isSet(bits, row), limit)
      return await Promise.resolve([...best.slice(0, 7), ...best.slice(0, 3)])
    }
    const recall = await measured(vectors, queries, some)
    expect(recall.random[100]).toBeCloseTo(0.7, 12)
    // Five rows are 0.1 % and one is 0.02 %: all of them are found.
    expect([recall.random[0.1], recall.random[0.01]]).toEqual([1, 1])
  })

  test('counts a row that is as similar as the tenth as good as it', async () => {
    const equal = Array.from({ length: 40 }, () => vectors[0] ?? new Float32Array(DIMENSIONS))
    stored(equal)
    const last: FilteredRecallInput['find'] = async (_, bits, limit) =>
      await Promise.resolve([...equal.keys()].filter((row) => isSet(bits, row)).slice(-limit))
    expect(await measured(equal, queries, last)).toEqual(everywhere(1))
  })

  test('of a search that finds nothing is 0, also where one row is allowed', async () => {
    stored(vectors)
    expect(await measured(vectors, queries, async () => await Promise.resolve([]))).toEqual(everywhere(0))
  })
})

describe('the filters', () => {
  const vectors = randomVectors(1_000, 3)
  const queries = randomVectors(2, 4)

  interface Asked {
    readonly query: Float32Array
    readonly bits: Buffer
    readonly limit: number
  }
  async function filtersOf(): Promise<readonly Asked[]> {
    stored(vectors)
    const asked: Asked[] = []
    await measured(vectors, queries, async (query, bits, limit) => {
      asked.push({ query, bits: Buffer.from(bits), limit })
      return await Promise.resolve([])
    })
    return asked
  }
  const rowsIn = (bits: Buffer): readonly number[] => [...vectors.keys()].filter((row) => isSet(bits, row))

  test('keep the stated share of the rows, at least one: any, the nearest to the query, the farthest', async () => {
    const asked = await filtersOf()
    expect(asked).toHaveLength(queries.length * SELECTIVITIES.length * FILTER_KINDS.length)
    for (const [at, { query, bits, limit }] of asked.entries()) {
      const selectivity = SELECTIVITIES[Math.floor(at / FILTER_KINDS.length) % SELECTIVITIES.length]
      const count = Math.max(1, Math.round(10 * Number(selectivity)))
      const rows = rowsIn(bits)
      expect([rows.length, bits.length, limit]).toEqual([count, 125, 10])
      const nearest = bestRows(vectors, query, () => true, vectors.length)
      const kept: Readonly<Record<FilterKind, readonly number[]>> = {
        random: rows,
        near: nearest.slice(0, count),
        far: nearest.slice(-count),
      }
      expect(new Set(rows)).toEqual(new Set(kept[FILTER_KINDS[at % FILTER_KINDS.length] ?? 'random']))
    }
  })

  test('are the same at every measurement, and random ones differ from query to query', async () => {
    const [first, second] = [await filtersOf(), await filtersOf()]
    expect(second).toEqual(first)
    const perQuery = SELECTIVITIES.length * FILTER_KINDS.length
    const randomAtTen = 2 * FILTER_KINDS.length
    expect(first[randomAtTen]?.bits).not.toEqual(first[perQuery + randomAtTen]?.bits)
  })
})

test('the measurement ends when it is called off', async () => {
  stored(randomVectors(10, 5))
  const signal = AbortSignal.abort(new Error('called off'))
  await expect(
    measured(randomVectors(10, 5), randomVectors(1, 6), async () => await Promise.resolve([]), { signal }),
  ).rejects.toThrow('called off')
})

test('the least over the kinds of filter is what counts; a kind that was not measured counts 0', () => {
  const recall = { random: { 100: 1, 50: 0.9 }, near: { 100: 0.99, 50: 1 }, far: { 100: 1, 50: 0.95 } }
  expect(leastRecall(recall)).toEqual({ 100: 0.99, 50: 0.9, 10: 0, 1: 0, 0.1: 0, 0.01: 0 })
})

test('the node is asked at most 15 evenly spread questions, within the rows of the filter alone', async () => {
  const vectors = Array.from({ length: 20 }, (_, n) => unit(Float32Array.of(n + 1, 20 - n, 0, 0)))
  writeFileSync(join(folder, 'vectors.f32'), Buffer.concat(vectors.map((vector) => Buffer.from(vector.buffer))))
  const embedded: string[] = []
  const embedder = {
    space: spaceOf(4),
    embed: async (texts: readonly string[]) => {
      embedded.push(...texts)
      return await Promise.resolve({
        vectors: texts.map((_, at) => Float32Array.from(unit(Float32Array.of(at + 1, 5, 0, 0)))),
        tokens: null,
        overlong: 0,
      })
    },
  }
  const { context, asked } = asking(
    ({ vector: query = new Float32Array(0), onlyRows: bits = Buffer.alloc(3), limit }) => {
      const rows = bestRows(vectors, query, (row) => isSet(bits, row), limit)
      return {
        passages: rows.map((row) => found(`r${row}`, 0.5, { row })),
        plan: 'exact',
        allowed: rows.length,
        predictors: [],
        unsupported: [],
      }
    },
    { embedder },
  )
  const questions = Array.from({ length: 30 }, (_, at) => ({ text: `q${at}` }))
  const recall = await filteredRecallOf(
    { folder, passages: vectors.length, embedding: embedder.space },
    questions,
    context,
  )
  expect(recall).toEqual(everywhere(1))
  expect(embedded).toEqual(Array.from({ length: 15 }, (_, at) => `q${at * 2}`))
  for (const { text, filters, ranking } of asked)
    expect([text, filters.inForceOn, ranking.collapseRevisionsOn, ranking.perDocumentMax]).toEqual(['', '', '', 0])
})
