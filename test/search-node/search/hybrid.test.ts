import { describe, expect, inject, test } from 'vitest'
import { PREDICTORS, predictorOf } from '#core/domain/predictors.ts'
import type { FoundPassage, SearchResult } from '#core/domain/search.ts'
import { defaultProfile } from '#jobs/version-build/parameters.ts'
import { fuse, createVectorScores } from '#search-node/search/fuse.ts'
import type { SearchInput } from '#search-node/search/interfaces.ts'
import { EVERYTHING, RANKING, allows, bruteForce } from '#test/support/search.ts'
import { ownWord, queryNear, questionOn, seededRandom, wordedRows } from '#test/support/passages.ts'
import { vectorsOf } from '#test/support/artifact.ts'
import { openCorpus } from '#test/support/fixtures.ts'

const { seed } = inject('random')
const ROWS = 150
const CLUSTERS = 15
/** Words that no passage holds. */
const UNKNOWN = 'zyzzyva qwertz plugh xyzzy frobnicate quuxly wibbled grault'

/** What a list has above the version's background; nothing is less than the background. */
const ABOVE_BACKGROUND = ['document_share', 'words_best', 'grams_best', 'grams_mass']

const rows = wordedRows({
  rows: ROWS,
  dimensions: 16,
  seed,
  clusters: CLUSTERS,
  traits: (n) => ({ language: n % 3 === 0 ? 'de' : 'en' }),
})
const corpus = await openCorpus({ rows })

const ask = (change: Partial<SearchInput>): Promise<SearchResult> => corpus.ask(change)
const sourceOf = (n: number): string => `doc-${Math.floor(n / 10)}#r${n}`
const sources = ({ passages }: SearchResult): string[] => passages.map(({ sourceId }) => sourceId)
const scoresOf = ({ passages }: SearchResult): Map<number, number> =>
  new Map(passages.map(({ row, score }) => [row, score]))

/** Questions on topics, each with a vector of its own. */
function questions(count: number): { readonly text: string; readonly vector: Float32Array }[] {
  const random = seededRandom(seed + 2)
  return Array.from({ length: count }, (_, n) => ({
    text: questionOn(n % CLUSTERS, random),
    vector: queryNear(rows, Math.floor(random() * ROWS), random),
  }))
}

function expectWellFormed(passages: readonly FoundPassage[]): void {
  expect(passages).toEqual(passages.toSorted((a, b) => b.score - a.score || (a.chunkId < b.chunkId ? -1 : 1)))
  expect(passages.every(({ score }) => score >= 0 && score <= 1)).toBe(true)
  expect(new Set(passages.map(({ row }) => row)).size).toBe(passages.length)
  for (const { row, chunkId, sourceId } of passages)
    expect(rows[row]?.record).toMatchObject({ chunk_id: chunkId, source_id: sourceId })
}

describe('words alone', () => {
  test('serve only passages that hold a word of the question, the greatest share of it first', async () => {
    for (const { text } of questions(CLUSTERS)) {
      const reply = await ask({ text, limit: 50 })
      expect(reply.plan).toBe('none')
      expect(reply.passages.length).toBeGreaterThan(0)
      for (const passage of reply.passages)
        expect(text.split(' ').some((word) => passage.text.includes(word))).toBe(true)
      expectWellFormed(reply.passages)
    }
    for (const n of [0, 77, ROWS - 1])
      expect(sources(await ask({ text: `and what of ${ownWord(n)}?` }))).toEqual([sourceOf(n)])
  })

  test('that no passage holds find nothing: below the background where there is one, else zero but for the shape of the question', async () => {
    const reply = await ask({ text: 'zyzzyva qwertz' })
    expect(reply).toMatchObject({ passages: [], allowed: ROWS, unsupported: [] })
    const values = PREDICTORS.map((name) => [name, predictorOf(reply.predictors, name) ?? Number.NaN] as const)
    expect(values.filter(([, value]) => value < 0).map(([name]) => name)).toEqual(ABOVE_BACKGROUND)
    const others = values.filter(([name, value]) => !ABOVE_BACKGROUND.includes(name) && value !== 0)
    expect(others.map(([name]) => name)).toEqual(['content_share', 'mean_idf'])
  })
})

test('a vector alone ranks as brute force does, and nothing is said of words', async () => {
  for (const { vector } of questions(10)) {
    const reply = await ask({ vector, limit: 20 })
    const best = bruteForce(rows, vector, EVERYTHING, 20)
    expect(reply.passages.map(({ chunkId }) => chunkId)).toEqual(best.map(({ chunk_id }) => chunk_id))
    expect(reply).toMatchObject({ predictors: [], unsupported: [] })
    expectWellFormed(reply.passages)
  }
})

describe('words and a vector together', () => {
  test('rank by the fused scores that each gives every passage', async () => {
    const scoresOfVector = createVectorScores(vectorsOf(corpus.mapping).cosines)
    for (const { text, vector } of questions(6)) {
      const ofWords = scoresOf(await ask({ text, limit: ROWS }))
      const cosines = rows.map((row) => row.vector.reduce((sum, value, d) => sum + value * (vector[d] ?? 0), 0))
      const ranking = { ...RANKING, denseWeight: 0.3 }
      const fused = fuse(
        {
          rows: Uint32Array.from(rows.keys()),
          lexical: Float64Array.from(rows.keys(), (row) => ofWords.get(row) ?? 0),
          dense: scoresOfVector(Float64Array.from(cosines), vector),
        },
        ranking.denseWeight,
      )
      const { passages } = await ask({ text, vector, limit: ROWS, ranking })
      expect(passages).toHaveLength(ROWS)
      for (const { row, score } of passages) expect(score).toBeCloseTo(fused[row] ?? Number.NaN, 5)
      expectWellFormed(passages)
    }
  })

  test('find what only one of the two finds', async () => {
    for (const near of [3, 60, 149]) {
      const vector = rows[near]?.vector.slice() ?? new Float32Array(16)
      const farthest = bruteForce(
        rows,
        vector.map((value) => -value),
        EVERYTHING,
        1,
      )[0]?.chunk_id
      const far = rows.findIndex(({ record }) => record.chunk_id === farthest)
      const [text = ''] = rows[far]?.record.text.split(' ') ?? []
      const rowsOf = async (denseWeight: number): Promise<number[]> =>
        (await ask({ text, vector, ranking: { ...RANKING, denseWeight } })).passages.map(({ row }) => row)
      expect(await rowsOf(0.1)).toContain(far)
      expect(await rowsOf(0.9)).toContain(near)
    }
  })

  test('rank as the vector alone does where the version holds no word of the question', async () => {
    for (const { vector } of questions(5))
      expect(sources(await ask({ text: 'zyzzyva qwertz', vector, limit: 20 }))).toEqual(
        sources(await ask({ vector, limit: 20 })),
      )
  })

  test('put a passage first whose own words the question repeats, wherever its vector points', async () => {
    for (const row of [3, 60, 149])
      for (const { vector } of questions(3))
        expect((await ask({ text: rows[row]?.record.text ?? '', vector })).passages[0]?.row).toBe(row)
  })

  test.each<[string, (row: number, random: () => number) => Pick<SearchInput, 'text' | 'vector'>]>([
    [
      'whose words the target lacks, and others hold by chance',
      (row, random) => ({ text: `${ownWord((row + 75) % ROWS)} ${UNKNOWN}`, vector: queryNear(rows, row, random) }),
    ],
    [
      'whose vector points elsewhere',
      (row, random) => ({
        text: `${rows[row]?.record.text ?? ''} ${UNKNOWN}`,
        vector: queryNear(rows, (row + 75) % ROWS, random),
      }),
    ],
    [
      'that words and vector find',
      (row, random) => ({ text: rows[row]?.record.text ?? '', vector: queryNear(rows, row, random) }),
    ],
  ])('find as much as the better of both does, of questions %s', async (_, questionOf) => {
    const random = seededRandom(seed + 4)
    const found = { words: 0, vector: 0, both: 0 }
    const ranking = { ...RANKING, denseWeight: defaultProfile({ embedding: 'openai' }).dense_weight }
    const isFound = async (row: number, change: Partial<SearchInput>): Promise<number> =>
      Number((await ask({ ...change, ranking })).passages.some((passage) => passage.row === row))
    for (let row = 0; row < ROWS; row += 3) {
      const { text, vector } = questionOf(row, random)
      found.words += await isFound(row, { text })
      found.vector += await isFound(row, { vector })
      found.both += await isFound(row, { text, vector })
    }
    expect(Math.max(found.words, found.vector)).toBeGreaterThan(40)
    expect(found.both).toBeGreaterThanOrEqual(Math.max(found.words, found.vector) - 1)
  })

  test('always give as many passages as were asked for, whatever the words', async () => {
    const [first] = questions(1)
    for (const text of ['', 'zyzzyva', 'the of and', first?.text ?? '', '§ 1 Article 2 Rule 3.4.5'])
      for (const limit of [1, 5, 100])
        expect((await ask({ text, vector: first?.vector, limit })).passages).toHaveLength(limit)
  })
})

describe('what speaks for the list', () => {
  test('is one finite number a feature whenever there are words, also when nothing is allowed', async () => {
    const nothing = { ...EVERYTHING, languages: ['fr'] }
    for (const { text, vector } of questions(CLUSTERS)) {
      for (const change of [
        { text },
        { text, vector },
        { text, vector, limit: 1 },
        { text, vector, filters: nothing },
        { text, filters: nothing },
      ]) {
        const { predictors } = await ask(change)
        expect(predictors).toHaveLength(PREDICTORS.length)
        expect(predictors.filter((value) => !Number.isFinite(value))).toEqual([])
      }
    }
  })

  test('does not depend on how many passages are asked for', async () => {
    // Words of more passages than are rescored.
    const text = Array.from({ length: 120 }, (_, n) => ownWord(n)).join(' ')
    for (const asked of [...questions(5), ...questions(2).map(({ vector }) => ({ text, vector }))])
      for (const limit of [10, 75])
        expect((await ask({ ...asked, limit })).predictors).toEqual((await ask({ ...asked, limit: 1 })).predictors)
  })
})

describe('narrowing', () => {
  test('filters hold for words as for vectors: exactly the allowed passages are served', async () => {
    const filters = { ...EVERYTHING, languages: ['de'] }
    for (const asked of questions(10)) {
      for (const change of [{ text: asked.text }, asked]) {
        const reply = await ask({ ...change, filters, limit: ROWS })
        expect(reply.allowed).toBe(rows.filter(({ record }) => allows(filters, record)).length)
        expect(reply.passages.every(({ metadata }) => metadata.language === 'de')).toBe(true)
        expectWellFormed(reply.passages)
      }
    }
  })

  test('by document serves passages of those documents alone', async () => {
    const documents = [...new Set(rows.map(({ record }) => record.document.id))].slice(0, 2)
    const [asked] = questions(1)
    const reply = await ask({ ...asked, filters: { ...EVERYTHING, documents }, limit: ROWS })
    expect(reply.allowed).toBe(20)
    expect(reply.passages).toHaveLength(20)
    expect(new Set(reply.passages.map(({ document }) => document.id))).toEqual(new Set(documents))
  })

  test('by rows leaves only those that the filters allow too', async () => {
    const random = seededRandom(seed + 3)
    const filters = { ...EVERYTHING, languages: ['en'] }
    for (const share of [0, 0.02, 0.5, 1]) {
      const kept = rows.map(() => random() < share)
      const onlyRows = new Uint8Array(Math.ceil(ROWS / 8))
      for (const [row, keeps] of kept.entries())
        if (keeps) onlyRows[row >>> 3] = (onlyRows[row >>> 3] ?? 0) | (1 << (row & 7))
      const left = rows.filter((_, row) => kept[row])
      for (const { vector, text } of questions(5)) {
        const best = bruteForce(left, vector, filters, 10).map(({ chunk_id }) => chunk_id)
        const reply = await ask({ vector, filters, onlyRows, limit: 10 })
        expect(reply.passages.map(({ chunkId }) => chunkId)).toEqual(best)
        expect(reply.allowed).toBe(left.filter(({ record }) => allows(filters, record)).length)
        expect((await ask({ vector, text, filters, onlyRows, limit: 10 })).passages.every(({ row }) => kept[row])).toBe(
          true,
        )
      }
    }
  })

  test('by fewer or more bits than there are rows is exact too', async () => {
    const [asked] = questions(1)
    expect(await ask({ ...asked, onlyRows: Uint8Array.of(0b101), limit: 10 })).toMatchObject({ allowed: 2 })
    expect(await ask({ ...asked, onlyRows: new Uint8Array(ROWS).fill(255), limit: 10 })).toMatchObject({
      allowed: ROWS,
    })
  })
})

test('rows are those of the passages, in their order', async () => {
  const [asked] = questions(1)
  const [whole, bare] = [await ask({ ...asked, limit: 10 }), await ask({ ...asked, limit: 10, rowsOnly: true })]
  expect(whole.passages).toHaveLength(10)
  expect(bare).toEqual({
    ...whole,
    passages: [],
    rows: whole.passages.map(({ row, score, named }) => ({ row, score, named })),
  })
})
