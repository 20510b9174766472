import { describe, expect, test } from 'vitest'
import { BOUNDS } from '#core/platform/bounds.ts'
import { weighableWords, wordWeightsIn, wordWeightsSchema } from '#core/domain/word-weights.ts'

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
    expect(weighableWords(many.join(' '))).toEqual(many.slice(0, BOUNDS.questionWordWeightsMax))
    const [longest, longer] = [
      'a'.repeat(BOUNDS.weightedWordCharactersMax),
      'b'.repeat(BOUNDS.weightedWordCharactersMax + 1),
    ]
    expect(weighableWords(`${longest} ${longer}`)).toEqual([longest])
  })
})

describe('the weights of a question', () => {
  test('are those of its own words alone', () => {
    expect(wordWeightsIn('Must a firm ensure it?', { ensure: 0, firm: 1.5, other: 2 })).toEqual([
      { word: 'firm', weight: 1.5 },
      { word: 'ensure', weight: 0 },
    ])
    expect(wordWeightsIn('Must a firm ensure it?', null)).toEqual([])
  })

  test('are none for words that every object has as a property', () => {
    expect(wordWeightsIn('constructor, toString and valueOf', { firm: 2 })).toEqual([])
  })
})

test.each<[string, Readonly<Record<string, number>>]>([
  ['a negative weight', { ensure: -0.1 }],
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
