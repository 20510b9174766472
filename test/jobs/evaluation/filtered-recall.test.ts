import { describe, expect, test } from 'vitest'
import {
  leastRecall,
  measureFilteredRecall,
  FILTER_KINDS,
  SELECTIVITIES,
  type FilteredRecall,
  type FilteredRecallInput,
  type FilterKind,
} from '#jobs/evaluation/filtered-questions.ts'
import {
  VECTOR_DIMENSIONS,
  bestAllowed,
  bestRows,
  everywhere,
  isSet,
  randomVectors,
  storeVectors,
  type Vectors,
} from './filtered-search.ts'

/** Measures a version with these vectors. */
function measured(
  vectors: Vectors,
  queries: Vectors,
  find: FilteredRecallInput['find'],
  change: Partial<FilteredRecallInput> = {},
): Promise<FilteredRecall> {
  return measureFilteredRecall({
    artifactFolder: storeVectors(vectors),
    rows: vectors.length,
    dimensions: VECTOR_DIMENSIONS,
    queries,
    find,
    signal: new AbortController().signal,
    onProgress: () => undefined,
    ...change,
  })
}

describe('filtered recall', () => {
  const vectors = randomVectors(5_000, 1)
  const queries = randomVectors(3, 2)

  test('is 1 everywhere for a search that finds the best allowed rows', async () => {
    const exact: FilteredRecallInput['find'] = async (query, bits, limit) =>
      await Promise.resolve(bestAllowed(vectors, query, bits, limit))
    expect(await measured(vectors, queries, exact)).toEqual(everywhere(1))
  })

  test(
    'falls with the selectivity for a search that filters what it found without, and to nothing where ' +
      'the neighbourhood is excluded',
    async () => {
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
    const worst = await measured(vectors, queries, async (query, bits, limit) => {
      const opposite = query.map((value) => -value)
      return await Promise.resolve(bestAllowed(vectors, opposite, bits, limit))
    })
    for (const kind of FILTER_KINDS) expect([worst[kind][100], worst[kind][1]]).toEqual([0, 0])
  })

  test('counts the share of the ten best that is found, however often a row comes', async () => {
    const some: FilteredRecallInput['find'] = async (query, bits, limit) => {
      const best = bestAllowed(vectors, query, bits, limit)
      return await Promise.resolve([...best.slice(0, 7), ...best.slice(0, 3)])
    }
    const recall = await measured(vectors, queries, some)
    expect(recall.random[100]).toBeCloseTo(0.7, 12)
    // Five rows are 0.1 % and one is 0.02 %: all of them are found.
    expect([recall.random[0.1], recall.random[0.01]]).toEqual([1, 1])
  })

  test('counts a row that is as similar as the tenth as good as it', async () => {
    const equal = Array.from({ length: 40 }, () => vectors[0] ?? new Float32Array(VECTOR_DIMENSIONS))
    const last: FilteredRecallInput['find'] = async (_, bits, limit) =>
      await Promise.resolve([...equal.keys()].filter((row) => isSet(bits, row)).slice(-limit))
    expect(await measured(equal, queries, last)).toEqual(everywhere(1))
  })

  test('of a search that finds nothing is 0, also where one row is allowed', async () => {
    expect(await measured(vectors, queries, async () => await Promise.resolve([]))).toEqual(everywhere(0))
  })
})

describe('the filters', () => {
  // More rows than one block of the file.
  const vectors = randomVectors(70_000, 3)
  const queries = randomVectors(2, 4)

  interface Asked {
    readonly query: Float32Array
    readonly bits: Buffer
    readonly limit: number
  }
  async function filtersOf(all: Vectors = vectors): Promise<readonly Asked[]> {
    const asked: Asked[] = []
    await measured(all, queries, async (query, bits, limit) => {
      asked.push({ query, bits: Buffer.from(bits), limit })
      return await Promise.resolve([])
    })
    return asked
  }
  const rowsIn = (bits: Buffer): readonly number[] => [...vectors.keys()].filter((row) => isSet(bits, row))

  test('keep the stated share of the rows, at least one: any, the nearest to the query, the farthest', async () => {
    const asked = await filtersOf()
    const names = [
      ['100', 'random'],
      ...SELECTIVITIES.slice(1).flatMap((selectivity) => FILTER_KINDS.map((kind) => [selectivity, kind] as const)),
    ] as const
    expect(asked).toHaveLength(queries.length * names.length)
    for (const [number, query] of queries.entries()) {
      const nearest = bestRows(vectors, query, () => true, vectors.length)
      for (const [at, [selectivity, kind]] of names.entries()) {
        const { query: own, bits, limit } = asked[number * names.length + at] ?? { bits: Buffer.alloc(0) }
        const count = 700 * Number(selectivity)
        const rows = rowsIn(bits)
        expect([own, rows.length, bits.length, limit]).toEqual([query, count, 8_750, 10])
        const kept: Readonly<Record<FilterKind, readonly number[]>> = {
          random: rows,
          near: nearest.slice(0, count),
          far: nearest.slice(-count),
        }
        expect(new Set(rows)).toEqual(new Set(kept[kind]))
      }
    }
  })

  test('are asked once where several selectivities and kinds allow the same rows', async () => {
    // 100 % is every row for all kinds; 1 %, 0.1 % and 0.01 % of 50 rows are one row.
    const asked = await filtersOf(vectors.slice(0, 50))
    expect(asked).toHaveLength(queries.length * (1 + 3 * FILTER_KINDS.length))
    const kept = asked.map(({ bits }) => rowsIn(bits).length)
    expect(kept.slice(0, kept.length / 2)).toEqual([50, 25, 25, 25, 5, 5, 5, 1, 1, 1])
  })

  test('are cut exactly among equally similar rows: the first rows count as nearer', async () => {
    const equal = Array.from({ length: 50 }, () => vectors[0] ?? new Float32Array(VECTOR_DIMENSIONS))
    const asked = await filtersOf(equal)
    const rows = [...equal.keys()]
    expect(asked.slice(5, 7).map(({ bits }) => rowsIn(bits))).toEqual([rows.slice(0, 5), rows.slice(-5)])
  })

  test('are the same at every measurement, and random ones differ from query to query', async () => {
    const [first, second] = [await filtersOf(), await filtersOf()]
    expect(second).toEqual(first)
    const randomAtTen = 1 + FILTER_KINDS.length
    expect(first[randomAtTen]?.bits).not.toEqual(first[first.length / 2 + randomAtTen]?.bits)
  })
})

test('the measurement ends when it is called off', async () => {
  const signal = AbortSignal.abort(new Error('called off'))
  await expect(
    measured(randomVectors(10, 5), randomVectors(1, 6), async () => await Promise.resolve([]), { signal }),
  ).rejects.toThrow('called off')
})

test('the least over the kinds of filter is what counts; a kind that was not measured counts 0', () => {
  const recall = { random: { 100: 1, 50: 0.9 }, near: { 100: 0.99, 50: 1 }, far: { 100: 1, 50: 0.95 } }
  expect(leastRecall(recall)).toEqual({ 100: 0.99, 50: 0.9, 10: 0, 1: 0, 0.1: 0, 0.01: 0 })
})

test('a version is measured in several passes over its vectors with the same filters and recall', async () => {
  const vectors = randomVectors(5_000, 10)
  const queries = randomVectors(5, 11)
  const measuredBy = async (similaritiesBytesMax: number): Promise<readonly [FilteredRecall, readonly Buffer[]]> => {
    const filters: Buffer[] = []
    const recall = await measured(
      vectors,
      queries,
      async (query, bits, limit) => {
        filters.push(bits)
        return await Promise.resolve(bestAllowed(vectors, query, bits, limit).slice(3))
      },
      { similaritiesBytesMax },
    )
    return [recall, filters]
  }
  // All queries in one pass, two in each, and one in each where even one exceeds the bound.
  const [atOnce, ...others] = [await measuredBy(1e6), await measuredBy(2 * 5_000 * 4), await measuredBy(1)]
  expect(atOnce?.[0].random[100]).toBeCloseTo(0.7, 12)
  expect(others).toEqual([atOnce, atOnce])
})
