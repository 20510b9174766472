import { describe, expect, test } from 'vitest'
import { BOUNDS } from '#core/platform/bounds.ts'
import { mulberry32 } from '#core/platform/seeded-random.ts'
import { fitWordWeights } from '#jobs/evaluate/word-weights/fit.ts'
import { trainingList } from '#jobs/evaluate/word-weights/lists.ts'
import type { TrainingList } from '#jobs/evaluate/word-weights/lists.ts'

const seed = Number(process.env['TEST_SEED'] ?? Date.now() % 1_000_000)
console.log(`TEST_SEED=${seed}`)

const { signal } = new AbortController()
const fitted = (all: readonly TrainingList[], denseWeight: number): Promise<Float64Array> =>
  fitWordWeights(all, { words: 4, denseWeight, signal })
const PASSAGES = 20
/** Words 0 and 1 are in every question; 2 and 3 in one of ten. */
const [TELLING, MISLEADING, RARE, LAST] = [0, 1, 2, 3]

/**
 * The first passage is relevant. The telling word is found in it more often than elsewhere, the misleading word less
 * often, and the rare words by chance.
 */
function lists(count: number, random: () => number): readonly TrainingList[] {
  return Array.from({ length: count }, (_, at) => {
    const words = at % 10 === 0 ? [TELLING, MISLEADING, RARE] : [TELLING, MISLEADING]
    const shares = words.map(() => 0.8 / words.length)
    const holds = (passage: number, word: number): boolean => {
      if (word === RARE) return random() < 0.3
      const often = (word === TELLING) === (passage === 0)
      return random() < (often ? 0.8 : 0.3)
    }
    const byWord = Array.from({ length: PASSAGES }, (__, passage) =>
      words.map((word, place) => (holds(passage, word) ? (shares[place] ?? 0) * (0.5 + 0.4 * random()) : 0)),
    )
    const list = trainingList(
      {
        words: words.map((word) => `w${word}`),
        shares,
        byWord: byWord.flat(),
        byWords: byWord.map((own) => own.reduce((sum, value) => sum + value, 0.05 * random())),
        byVector: byWord.map(() => random() - 0.5),
      },
      byWord.map((__, passage) => passage === 0),
      new Map(Array.from({ length: 4 }, (__, word) => [`w${word}`, word])),
    )
    if (list === undefined) throw new Error('a list has a relevant passage')
    return list
  })
}

describe('weights of words', () => {
  test('are high for words that relevant passages hold, low for words that others hold', async () => {
    const weights = await fitted(lists(300, mulberry32(seed)), 0.3)
    expect(weights[TELLING]).toBeGreaterThan(1.2)
    expect(weights[MISLEADING]).toBeLessThan(0.6)
    expect(weights.every((weight) => weight >= 0.1 && weight <= 3)).toBe(true)
  })

  test('stay 1 for words of no list, and near 1 for words of one', async () => {
    const all = lists(300, mulberry32(seed))
    expect((await fitted(all, 0.3))[LAST]).toBe(1)
    const one = await fitted(all.slice(0, 1), 0.3)
    for (const weight of one) expect(Math.abs(weight - 1)).toBeLessThan(0.6)
    expect([...(await fitWordWeights([], { words: 2, denseWeight: 0.3, signal }))]).toEqual([1, 1])
  })

  test('move less where the vectors rank alone', async () => {
    const all = lists(100, mulberry32(seed))
    expect([...(await fitted(all, 1))]).toEqual([1, 1, 1, 1])
  })

  test('rank lists better that the fit has not seen', async () => {
    const random = mulberry32(seed)
    const weights = await fitted(lists(300, random), 0)
    const others = lists(200, random)
    expect(meanRank(others, weights)).toBeLessThan(0.8 * meanRank(others, Float64Array.of(1, 1, 1, 1)))
  })

  test('lie at the least of the loss: no step within their bounds lowers it', async () => {
    const all = lists(200, mulberry32(seed))
    const temperature = bestTemperature(all, Float64Array.of(1, 1, 1, 1), 0.3)
    const least = (weights: Float64Array): number => loss(all, weights, 0.3, temperature)
    const weights = await fitted(all, 0.3)
    for (const word of [TELLING, MISLEADING, RARE, LAST])
      for (const by of [-0.1, 0.1]) {
        const moved = weights.with(word, Math.min(3, Math.max(0.1, (weights[word] ?? 1) + by)))
        expect(least(moved)).toBeGreaterThanOrEqual(least(weights))
      }
  })
})

describe('words that occur together', () => {
  const PHRASE = 5
  /** Five words of a phrase stand in passages together, mostly in irrelevant ones; two more tell which is relevant. */
  const together = (count: number): readonly TrainingList[] => {
    const random = mulberry32(seed)
    const shares = Array.from({ length: PHRASE + 2 }, () => 0.9 / (PHRASE + 2))
    return Array.from({ length: count }, () => {
      const byWord = Array.from({ length: PASSAGES }, (_, passage) => {
        const phrase = random() < (passage === 0 ? 0.3 : 0.6)
        return shares.map((share, word) => {
          const holds = word < PHRASE ? phrase : random() < (passage === 0 ? 0.9 : 0.3)
          return holds ? share * (0.6 + 0.3 * random()) : 0
        })
      })
      const parts = {
        words: shares.map((_, word) => `w${word}`),
        shares,
        byWord: byWord.flat(),
        byWords: byWord.map((own) => own.reduce((sum, value) => sum + value, 0)),
        byVector: [],
      }
      const numberOf = new Map(shares.map((_, word) => [`w${word}`, word]))
      const list = trainingList(
        parts,
        byWord.map((_, passage) => passage === 0),
        numberOf,
      )
      if (list === undefined) throw new Error('a list has a relevant passage')
      return list
    })
  }

  test('get weights at the least of the loss too, though the steps of each alone would overshoot', async () => {
    const all = together(300)
    const options = { words: PHRASE + 2, denseWeight: 0, signal }
    const weights = await fitWordWeights(all, options)
    const ones = new Float64Array(PHRASE + 2).fill(1)
    const temperature = bestTemperature(all, ones, 0)
    const gained = loss(all, ones, 0, temperature) - loss(all, weights, 0, temperature)
    expect(gained).toBeGreaterThan(0)
    // No step along the phrase as a whole, nor along one word, gains a hundredth more.
    for (const by of [-0.05, 0.05])
      for (const words of [[0, 1, 2, 3, 4], ...Array.from(ones.keys(), (word) => [word])]) {
        const moved = weights.map((weight, word) =>
          words.includes(word) ? Math.min(3, Math.max(0.1, weight + by)) : weight,
        )
        const more = loss(all, weights, 0, temperature) - loss(all, moved, 0, temperature)
        expect(more).toBeLessThan(gained / 100)
      }
  })
})

function bestTemperature(all: readonly TrainingList[], weights: Float64Array, dense: number): number {
  const temperatures = Array.from({ length: 30 }, (_, step) => 0.003 * 100 ** (step / 29))
  const losses = temperatures.map((temperature) => loss(all, weights, dense, temperature))
  return temperatures[losses.indexOf(Math.min(...losses))] ?? 0
}

test('a fit ends when it is aborted', async () => {
  const aborting = new AbortController()
  const fitting = fitWordWeights(lists(50, mulberry32(seed)), { words: 4, denseWeight: 0, signal: aborting.signal })
  aborting.abort(new Error('stopped'))
  await expect(fitting).rejects.toThrow('stopped')
})

/** Of the relevant passages by words, from 1. */
function meanRank(all: readonly TrainingList[], weights: Float64Array): number {
  const ranks = all.map((list) => {
    const scores = scoresOf(list, weights, 0)
    return scores.filter((score) => score >= (scores[0] ?? 0)).length
  })
  return ranks.reduce((sum, rank) => sum + rank, 0) / ranks.length
}

/** The formula of decision 0034. */
function scoresOf(
  { words, shares, byWord, byWords, byVector }: TrainingList,
  weights: Float64Array,
  dense: number,
): number[] {
  const gains = Array.from(words, (word) => (weights[word] ?? 1) - 1)
  const greatest = gains.reduce((sum, gain, place) => sum + gain * (shares[place] ?? 0), 1)
  return Array.from(byWords, (score, passage) => {
    const own = gains.reduce((sum, gain, place) => sum + gain * (byWord[passage * words.length + place] ?? 0), score)
    return ((1 - dense) * own) / greatest + dense * (byVector[passage] ?? 0)
  })
}

function loss(all: readonly TrainingList[], weights: Float64Array, dense: number, temperature: number): number {
  const ofLists = all.map((list) => {
    const powers = scoresOf(list, weights, dense).map((score) => Math.exp(score / temperature))
    return -Math.log((powers[0] ?? 0) / powers.reduce((sum, power) => sum + power, 0))
  })
  const penalty = 2 * weights.reduce((sum, weight) => sum + (weight - 1) ** 2, 0)
  return ofLists.reduce((sum, value) => sum + value, penalty)
}

describe('a list to learn from', () => {
  const parts = {
    words: ['a', 'b'],
    shares: [0.5, 0.4],
    byWord: [0.1, 0.2, 0.3, 0],
    byWords: [0.3, 0.35],
    byVector: [],
  }

  test('keeps the words that get a weight, and shares its probability among the relevant passages', () => {
    expect(trainingList(parts, [true, true], new Map([['b', 7]]))).toEqual({
      words: Uint32Array.of(7),
      shares: Float64Array.of(0.4),
      byWord: Float32Array.of(0.2, 0),
      byWords: Float64Array.of(0.3, 0.35),
      byVector: Float64Array.of(0, 0),
      ideal: Float64Array.of(0.5, 0.5),
    })
  })

  test('leaves out passages that do not count, and words beyond those that a request may weigh', () => {
    const list = trainingList(parts, [undefined, true], new Map([['a', 0]]))
    expect(list).toMatchObject({
      byWord: Float32Array.of(0.3),
      byWords: Float64Array.of(0.35),
      ideal: Float64Array.of(1),
    })
    const words = Array.from({ length: BOUNDS.questionWordWeightsMax + 5 }, (_, at) => `w${at}`)
    const many = { ...parts, words, shares: words.map(() => 0.01), byWord: words.map(() => 0), byWords: [0] }
    const numbers = new Map(words.map((word, at) => [word, at]))
    expect(trainingList(many, [true], numbers)?.words).toHaveLength(BOUNDS.questionWordWeightsMax)
  })

  test('is none without a relevant passage', () => {
    expect(trainingList(parts, [false, false], new Map())).toBeUndefined()
  })
})
