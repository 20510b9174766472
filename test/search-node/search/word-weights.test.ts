import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ArtifactRow } from '#core/index/format/writer.ts'
import type { ScoreParts, SearchResult } from '#core/domain/search.ts'
import { weighableWords } from '#core/domain/word-weights.ts'
import type { WordWeight } from '#core/domain/word-weights.ts'
import type { SearchInput } from '#search-node/search/query.ts'
import { rescoreRows } from '#search-node/search/rescore.ts'
import { weightedScores } from '#search-node/search/word-weights.ts'
import { queryNear, seededRandom } from '#test/support/artifact.ts'
import { RANKING } from '#test/support/search-node/asked.ts'
import { anyCorpus, anyText, withForward } from '#test/support/search-node/forward-corpus.ts'
import { searchable } from '#test/support/search-node/searchable.ts'
import type { Searchable } from '#test/support/search-node/searchable.ts'
import { questionOn, wordedRows } from '#test/support/search-node/worded-corpus.ts'

const seed = Number(process.env['TEST_SEED'] ?? Date.now() % 1_000_000)
console.log(`TEST_SEED=${seed}`)
const ROWS = 150
const CLUSTERS = 15

let corpus: Searchable
let rows: readonly ArtifactRow[]
beforeAll(async () => {
  rows = wordedRows({ rows: ROWS, dimensions: 16, seed, clusters: CLUSTERS })
  corpus = await searchable({ rows })
})
afterAll(() => corpus.close())

interface Asked {
  readonly text: string
  readonly vector: Float32Array
  readonly wordWeights: readonly WordWeight[]
}

/** Questions on topics, with a weight on all words but the first. */
function questions(count: number): readonly Asked[] {
  const random = seededRandom(seed + 2)
  return Array.from({ length: count }, (_, n) => {
    const text = questionOn(n % CLUSTERS, random)
    const [, ...weighted] = weighableWords(text)
    return {
      text,
      vector: queryNear(rows, Math.floor(random() * ROWS), random),
      wordWeights: weighted.map((word) => ({ word, weight: 0.1 + 2.9 * random() })),
    }
  })
}

const ask = (change: Partial<SearchInput>): Promise<SearchResult> => corpus.ask(change)
const scoresOf = ({ passages }: SearchResult): Map<number, number> =>
  new Map(passages.map(({ row, score }) => [row, score]))

function partsOf({ scoreParts }: SearchResult): ScoreParts {
  if (scoreParts === undefined) throw new Error('the result has no parts')
  return scoreParts
}

/** The formula of decision 0034 for one passage of a result. */
function formula(
  { words, shares, byWord, byWords }: ScoreParts,
  passage: number,
  weights: readonly WordWeight[],
): number {
  const gains = words.map((word) => (weights.find((weight) => weight.word === word)?.weight ?? 1) - 1)
  const own = gains.reduce(
    (sum, gain, at) => sum + gain * (byWord[passage * words.length + at] ?? 0),
    byWords[passage] ?? 0,
  )
  return own / gains.reduce((sum, gain, at) => sum + gain * (shares[at] ?? 0), 1)
}

describe('weights of words', () => {
  test('scale what each word adds, and the greatest score with it', async () => {
    for (const { text, vector, wordWeights } of questions(CLUSTERS)) {
      const plain = await ask({ text, vector, limit: ROWS, withScoreParts: true })
      const found = scoresOf(await ask({ text, limit: ROWS, ranking: { ...RANKING, wordWeights } }))
      const compared = [...plain.passages.entries()].filter(([, { row }]) => found.has(row))
      for (const [at, { row }] of compared)
        expect(found.get(row)).toBeCloseTo(formula(partsOf(plain), at, wordWeights), 10)
      expect(compared.length).toBeGreaterThan(0)
    }
  })

  test('order passages and leave the predictors of the decision as they are', async () => {
    let moved = 0
    for (const { text, vector, wordWeights } of questions(CLUSTERS)) {
      const [plain, under] = await Promise.all([
        ask({ text, vector }),
        ask({ text, vector, ranking: { ...RANKING, wordWeights } }),
      ])
      expect(under.predictors).toEqual(plain.predictors)
      if (under.passages.some(({ row }, at) => row !== plain.passages[at]?.row)) moved++
    }
    expect(moved).toBeGreaterThan(0)
  })

  test('keep scores in [0, 1], and with one weight for all words and no pairs the scores themselves', () => {
    const anyWeight = fc.double({ min: 0.1, max: 3, noNaN: true })
    fc.assert(
      fc.property(anyCorpus, anyText, fc.array(anyWeight, { minLength: 10, maxLength: 10 }), (texts, text, weights) => {
        withForward(texts, ({ forward, ask: question }) => {
          const asked = { ...question(text), pairs: [], pairsWeight: 0 }
          const contextWindow = { rows: texts.length, sameRevisionAsPrevious: () => false, allowed: () => true }
          const rescored = rescoreRows(asked, forward, contextWindow, Uint32Array.from(texts.keys()))
          const under = (weightOf: (at: number) => number): Float64Array =>
            weightedScores(
              asked,
              rescored,
              asked.words.map(({ word }, at) => ({ word, weight: weightOf(at) })),
            )
          const scores = under((at) => weights[at] ?? 1)
          expect([...scores].every((score) => score >= 0 && score <= 1)).toBe(true)
          for (const [at, score] of under(() => weights[0] ?? 1).entries())
            expect(score).toBeCloseTo(rescored.scores[at] ?? -1, 10)
        })
      }),
    )
  })
})

describe('the parts of scores', () => {
  test('are those of each passage, in the order of the reply', async () => {
    for (const { text, vector } of questions(CLUSTERS)) {
      const reply = await ask({ text, vector, limit: 40, withScoreParts: true })
      const { words, shares, byWord, byWords, byVector } = partsOf(reply)
      expect([byWords.length, byVector.length]).toEqual([reply.passages.length, reply.passages.length])
      expect(byWord).toHaveLength(words.length * reply.passages.length)
      expect(shares).toHaveLength(words.length)
      for (const [at, { score }] of reply.passages.entries()) {
        const sum = 0.5 * (byWords[at] ?? 0) + 0.5 * (byVector[at] ?? 0)
        expect(Math.max(0, sum)).toBeCloseTo(score, 10)
        const own = byWord.slice(at * words.length, (at + 1) * words.length)
        expect(own.every((value, word) => value >= 0 && value <= (shares[word] ?? 0))).toBe(true)
        expect(own.reduce((all, value) => all + value, 0)).toBeLessThanOrEqual((byWords[at] ?? 0) + 1e-9)
      }
    }
  })

  test('are those without weights, without a vector where none was sent, and come only where asked for', async () => {
    const [asked] = questions(1)
    if (asked === undefined) throw new Error('there is no question')
    const { text, vector, wordWeights } = asked
    const ranking = { ...RANKING, wordWeights }
    const [plain, under] = await Promise.all([
      ask({ text, limit: ROWS, withScoreParts: true }),
      ask({ text, limit: ROWS, withScoreParts: true, ranking }),
    ])
    const byRow = (reply: SearchResult): Map<number, number | undefined> =>
      new Map(reply.passages.map(({ row }, at) => [row, partsOf(reply).byWords[at]]))
    expect(byRow(under)).toEqual(byRow(plain))
    expect(partsOf(plain).byVector).toEqual([])
    expect((await ask({ text, vector })).scoreParts).toBeUndefined()
    expect((await ask({ vector, withScoreParts: true })).scoreParts).toBeUndefined()
  })
})
