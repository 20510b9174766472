import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BOUNDS } from '#core/platform/bounds.ts'
import {
  weighableWords,
  weighingOf,
  weightedScore,
  wordWeightsIn,
  wordWeightsSchema,
} from '#core/domain/word-weights.ts'

describe('the words of a question that may have a weight', () => {
  test('are its folded words, each once, in their order', () => {
    expect(weighableWords('Which FIRMS must ensure, under Rule 3.2(a), that firms comply?')).toEqual([
      'which',
      'firms',
      'must',
      'ensure',
      'under',
      'rule',
      '3.2(a)',
      '3.2',
      'that',
      'comply',
    ])
  })

  test('are no more and no longer than a request may carry', () => {
    const many = Array.from({ length: 2 * BOUNDS.questionWordWeightsMax }, (_, at) => `w${at}`)
    const weights = Object.fromEntries(many.map((word) => [word, 2]))
    const sent = wordWeightsIn(['and', 'more', ...many].join(' '), weights)
    expect(sent.map(({ word }) => word)).toEqual(many.slice(0, BOUNDS.questionWordWeightsMax))
    const [longest, longer] = [
      'a'.repeat(BOUNDS.weightedWordCharactersMax),
      'b'.repeat(BOUNDS.weightedWordCharactersMax + 1),
    ]
    expect(weighableWords(`${longest} ${longer}`)).toEqual([longest])
  })
})

describe('the weights of a question', () => {
  test('are those of its own words alone', () => {
    expect(wordWeightsIn('Must a firm ensure it?', { ensure: 0.1, firm: 1.5, other: 2 })).toEqual([
      { word: 'firm', weight: 1.5 },
      { word: 'ensure', weight: 0.1 },
    ])
    expect(wordWeightsIn('Must a firm ensure it?', null)).toEqual([])
  })

  test('are none for words that every object has as a property', () => {
    expect(wordWeightsIn('constructor, toString and valueOf', { firm: 2 })).toEqual([])
  })
})

test.each<[string, Readonly<Record<string, number>>]>([
  ['a weight of 0, which leaves nothing of a word', { ensure: 0 }],
  ['a weight above 3', { ensure: 3.1 }],
  ['a weight that is no number', { ensure: Number.NaN }],
  ['no word', { '': 1 }],
  ['a word that no request may carry', { ['a'.repeat(BOUNDS.weightedWordCharactersMax + 1)]: 1 }],
  ['more words than a profile may hold', weightsOf(BOUNDS.wordWeightsMax + 1)],
])('weights with %s are refused', (_, weights) => {
  expect(wordWeightsSchema.safeParse(weights).success).toBe(false)
})

test('weights come back from JSON as they went in', () => {
  const weights = { ...weightsOf(BOUNDS.wordWeightsMax - 1), constructor: 3 }
  expect(wordWeightsSchema.parse(JSON.parse(JSON.stringify(weights)))).toEqual(weights)
})

function weightsOf(count: number): Readonly<Record<string, number>> {
  return Object.fromEntries(Array.from({ length: count }, (_, at) => [`w${at}`, 2]))
}

describe('scores under weights', () => {
  const anyWeights = fc.array(fc.double({ min: 0.1, max: 3, noNaN: true }), { minLength: 1, maxLength: 8 })

  test('lie in [0, 1] as the scores do, and are the scores where all weights are 1', () => {
    fc.assert(
      fc.property(
        anyWeights,
        fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 17, maxLength: 17 }),
        (weights, draws) => {
          // The words have a part of the greatest score, the pairs the rest; a passage has a part of either.
          const shares = weights.map((_, at) => (draws[at] ?? 0) / weights.length)
          const byWord = shares.map((share, at) => share * (draws[8 + at] ?? 0))
          const pairs = (1 - shares.reduce((sum, share) => sum + share, 0)) * (draws[16] ?? 0)
          const score = byWord.reduce((sum, own) => sum + own, pairs)
          const under = weightedScore(weighingOf(weights, shares), score, byWord, 0)
          expect(under).toBeGreaterThanOrEqual(0)
          expect(under).toBeLessThanOrEqual(1)
          const ones = weights.map(() => 1)
          expect(weightedScore(weighingOf(ones, shares), score, byWord, 0)).toBe(Math.min(1, score))
        },
      ),
    )
  })

  test('rise for a passage that holds the words with the higher weights', () => {
    const weighing = weighingOf([2, 0.5], [0.5, 0.5])
    const byWord = [0.3, 0, 0, 0.3]
    expect(weightedScore(weighing, 0.3, byWord, 0)).toBeCloseTo(0.6 / 1.25, 12)
    expect(weightedScore(weighing, 0.3, byWord, 2)).toBeCloseTo(0.15 / 1.25, 12)
  })
})
