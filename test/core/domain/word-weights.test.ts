import { describe, expect, test } from 'vitest'
import { BOUNDS } from '#core/platform/bounds.ts'
import { weighableWords, wordWeightsIn } from '#core/domain/word-weights.ts'

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
