import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { tokenHash } from '#core/index/lexical/token-hash.ts'
import { indexIn } from '#core/index/hash-table.ts'
import { anyCorpus, anyText, said, withForward } from '#test/support/lexical-index.ts'

const idf = (frequency: number, rows: number): number => Math.log(1 + (rows - frequency + 0.5) / (frequency + 0.5))
const hash = (word: string, language = 'xx'): number => tokenHash(language, word)

describe('the words of a question', () => {
  test('are listed once, by first appearance, with their row counts; words that no row holds are the rarest', () => {
    withForward([said('anchor ballast'), said('anchor'), said('cargo')], ({ ask }) => {
      expect(ask('Anchor, embargo: ballast anchor').words).toEqual([
        { word: 'anchor', idf: idf(2, 3), frequency: 2, hashes: [hash('anchor')] },
        { word: 'embargo', idf: idf(0, 3), frequency: 0, hashes: [hash('embargo')] },
        { word: 'ballast', idf: idf(1, 3), frequency: 1, hashes: [hash('ballast')] },
      ])
    })
  })

  test('are found by their hash in every language, and nothing else is', () => {
    withForward([said('anchors', { language: 'en' }), said('anchors', { language: 'xx' })], ({ ask }) => {
      const { words, wordTable } = ask('anchors ballast')
      expect(words[0]).toMatchObject({ frequency: 2, hashes: [hash('anchor', 'en'), hash('anchors')] })
      expect([
        indexIn(wordTable, hash('anchor', 'en')),
        indexIn(wordTable, hash('anchors')),
        indexIn(wordTable, hash('ballast')),
      ]).toEqual([0, 0, 1])
      expect([indexIn(wordTable, hash('anchor')), indexIn(wordTable, hash('cargo')), indexIn(wordTable, 0)]).toEqual([
        -1, -1, -1,
      ])
    })
  })

  test('are found among any number of them', () => {
    const any = fc.uniqueArray(fc.stringMatching(/^[a-z]{2,6}$/), { minLength: 1, maxLength: 60 })
    withForward([said('anchor')], ({ ask }) => {
      fc.assert(
        fc.property(any, (asked) => {
          const { words, wordTable } = ask(asked.join(' '))
          expect(words).toHaveLength(asked.length)
          for (const [index, word] of asked.entries()) expect(indexIn(wordTable, hash(word))).toBe(index)
          expect(indexIn(wordTable, hash('not-asked-for'))).toBe(-1)
        }),
      )
    })
  })

  test('of a question without any word are none', () => {
    withForward([said('anchor')], ({ ask }) => {
      const { words, pairs, pairsWeight, wordTable } = ask('?')
      expect({ words, pairs, pairsWeight }).toEqual({ words: [], pairs: [], pairsWeight: 0 })
      expect(indexIn(wordTable, hash('anchor'))).toBe(-1)
    })
  })
})

describe('the pairs of a question', () => {
  test('weigh what they say beyond their words: the idf of the pair less the mean of the two', () => {
    // Four rows hold both words, one of them side by side.
    const corpus = [
      said('anchor ballast'),
      said('anchor cargo ballast'),
      said('ballast anchor'),
      said('ballast cargo anchor'),
      said('cargo'),
      said('cargo'),
    ]
    withForward(corpus, ({ ask }) => {
      const { pairs, pairsWeight } = ask('anchor ballast')
      const weight = idf(1, 6) - idf(4, 6)
      expect(pairs).toEqual([{ first: hash('anchor'), second: hash('ballast'), weight: expect.closeTo(weight, 12) }])
      expect(pairsWeight).toBeCloseTo(weight, 12)
    })
  })

  test('that never stand apart say nothing beyond their words, and are none', () => {
    withForward([said('anchor ballast'), said('cargo')], ({ ask }) => {
      expect(ask('anchor ballast').pairs).toEqual([])
    })
  })

  test('count once however often they are said', () => {
    const corpus = [said('anchor cargo ballast'), said('ballast cargo anchor'), said('cargo')]
    withForward(corpus, ({ ask }) => {
      expect(ask('anchor ballast; anchor ballast').pairs.map(({ first, second }) => [first, second])).toEqual([
        [hash('anchor'), hash('ballast')],
        [hash('ballast'), hash('anchor')],
      ])
    })
  })

  test('pass over function words, and weigh most in the language that says most', () => {
    const corpus = ['en', 'xx'].flatMap((language) => [
      said('anchor of ballast', { language }),
      said('anchor cargo', { language }),
      said('ballast cargo', { language }),
    ])
    withForward(corpus, ({ ask }) => {
      const [english, other] = [ask('anchor the ballast', ['en']), ask('anchor the ballast', ['xx'])]
      expect(english.pairs.map(({ first, second }) => [first, second])).toEqual([
        [hash('anchor', 'en'), hash('ballast', 'en')],
      ])
      const both = ask('anchor the ballast', ['en', 'xx'])
      expect(both.pairs).toEqual([...english.pairs, ...other.pairs])
      expect(both.pairsWeight).toBe(Math.max(english.pairsWeight, other.pairsWeight))
    })
  })

  test('have positive weights and words of the question, in any corpus', () => {
    fc.assert(
      fc.property(anyCorpus, anyText, (corpus, text) => {
        withForward(corpus, ({ ask }) => {
          const { words, pairs, pairsWeight, wordTable } = ask(text)
          for (const { first, second, weight } of pairs) {
            expect(weight).toBeGreaterThan(0)
            expect(words[indexIn(wordTable, first)]).toBeDefined()
            expect(words[indexIn(wordTable, second)]).toBeDefined()
          }
          expect(pairsWeight).toBeLessThanOrEqual(pairs.reduce((sum, { weight }) => sum + weight, 0))
          for (const { idf: own, frequency } of words) expect(own).toBeCloseTo(idf(frequency, corpus.length), 12)
        })
      }),
      { numRuns: 40 },
    )
  })
})
