import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { analyzeQuestion } from '#core/index/analysis/analyzer.ts'
import { LEXICAL_BOUNDS, SCORE_UNIT, prepareLexical } from '#search-node/search/candidates/words/query.ts'
import type { LexicalQuery } from '#search-node/search/candidates/words/query.ts'
import type { Ranked } from '#core/index/top-k.ts'
import { searchLexical } from '#search-node/search/candidates/words/search.ts'
import { seededRandom } from '#test/support/passages.ts'
import { bestOf, bitsOf, naiveScores, naiveSums, ranksOf, withIndex } from '#test/support/lexical-index.ts'
import type { Passage } from '#test/support/lexical-index.ts'

const VOCABULARY = [
  'bank',
  'notify',
  'notified',
  'Vertrag',
  'Verträge',
  'obligation',
  '33(1)',
  '2016/679',
  'client',
  'asset',
  'the',
  'und',
]
const phrase = (maxLength: number): fc.Arbitrary<string> =>
  fc.array(fc.constantFrom(...VOCABULARY), { maxLength }).map((list) => list.join(' '))
const passage: fc.Arbitrary<Passage> = fc.record({
  language: fc.constantFrom('en', 'en-GB', 'de', 'fr', 'xx'),
  heading: phrase(3),
  text: phrase(12),
})

function pairs({ ids, scores }: Ranked): [number, number][] {
  return Array.from(ids, (row, at) => [row, scores[at] ?? 0])
}

function everyRow(rows: number): Uint32Array {
  return bitsOf(rows, () => true)
}

/** Of every row, 0 where it holds none of the words. */
function scoresOf(query: LexicalQuery, rows: number): Uint32Array {
  const found = searchLexical(query, everyRow(rows), rows, ranksOf(rows))
  const scores = new Uint32Array(rows)
  for (const [at, row] of found.ids.entries()) scores[row] = found.scores[at] ?? 0
  return scores
}

describe('scores', () => {
  test('are BM25 over heading and text, up to the rounding of impacts and weights', () => {
    fc.assert(
      fc.property(
        fc.array(passage, { minLength: 1, maxLength: 40 }),
        fc.subarray(['bank', 'notify', 'Vertrag', 'obligation', 'client', '2016/679', 'nowhere'], { minLength: 1 }),
        (corpus, asked) => {
          withIndex(corpus, (index) => {
            const query = prepareLexical(index, analyzeQuestion(asked.join(' '), index.description.languages).words)
            const scores = scoresOf(query, corpus.length)
            for (const [row, expected] of naiveScores(corpus, asked).entries())
              expect(Math.abs((scores[row] ?? 0) * SCORE_UNIT - expected)).toBeLessThan(asked.length * 0.03)
          })
        },
      ),
      { numRuns: 60 },
    )
  })

  test('count a word once when several languages know it, and with the frequency of all', () => {
    const corpus = [
      { language: 'en', heading: '', text: 'bank bank' },
      { language: 'de', heading: '', text: 'bank bank' },
      { language: 'en', heading: '', text: 'asset' },
    ]
    withIndex(corpus, (index) => {
      const query = prepareLexical(index, analyzeQuestion('bank', index.description.languages).words)
      expect(query.groups.map(({ frequency }) => frequency)).toEqual([2])
      const [first = 0, second, third] = scoresOf(query, 3)
      expect(first).toBeGreaterThan(0)
      expect([second, third]).toEqual([first, 0])
      expect(query.maximum).toBe(first)
    })
  })

  test('are the sum of what each word adds, and words that the version lacks are named', () => {
    withIndex([{ language: 'en', heading: 'Assets', text: 'client money' }], (index) => {
      const query = prepareLexical(index, analyzeQuestion('unknown client assets', ['en']).words)
      expect(query.groups.map(({ word, frequency }) => [word, frequency])).toEqual([
        ['unknown', 0],
        ['client', 1],
        ['assets', 1],
      ])
      const [unknown, client, assets] = ['unknown', 'client', 'assets'].map(
        (word) => scoresOf(prepareLexical(index, analyzeQuestion(word, ['en']).words), 1)[0] ?? -1,
      )
      expect(unknown).toBe(0)
      expect(Math.min(client ?? 0, assets ?? 0)).toBeGreaterThan(0)
      expect([...scoresOf(query, 1)]).toEqual([(client ?? 0) + (assets ?? 0)])
    })
  })
})

describe('the best rows', () => {
  test('are those of scoring every allowed row, ties by rank, for any corpus, question and filter', () => {
    fc.assert(
      fc.property(
        fc.array(passage, { minLength: 1, maxLength: 80 }),
        phrase(8),
        fc.nat(90),
        fc.array(fc.boolean(), { minLength: 80, maxLength: 80 }),
        (corpus, asked, wanted, allowedFlags) => {
          withIndex(corpus, (index) => {
            const query = prepareLexical(index, analyzeQuestion(asked, index.description.languages).words)
            const allowed = (row: number): boolean => allowedFlags[row] ?? false
            const sums = naiveSums(corpus, query)
            const ranks = ranksOf(corpus.length)
            expect(pairs(searchLexical(query, bitsOf(corpus.length, allowed), wanted, ranks))).toEqual(
              bestOf(sums, allowed, wanted, ranks),
            )
          })
        },
      ),
      { numRuns: 100 },
    )
  })

  test('are the same across chunks of rows, where most are passed over', () => {
    const rows = 67_000
    const random = seededRandom(20_261)
    const word = (): string => `w${Math.floor(400 * random() ** 3)}`
    const corpus = Array.from({ length: rows }, () => ({
      language: 'en',
      heading: '',
      text: Array.from({ length: 1 + Math.floor(random() * 6) }, word).join(' '),
    }))
    const ranks = ranksOf(rows)
    withIndex(corpus, (index) => {
      for (const asked of ['w0 w1 w2', 'w399 w380 w0 w1', 'w250', 'w0 w0 w5 w7 w11 w13 w300 w398', 'w3 absent']) {
        const query = prepareLexical(index, analyzeQuestion(asked, ['en']).words)
        const sums = naiveSums(corpus, query)
        for (const allowed of [
          () => true,
          (row: number) => row % 3 === 1,
          (row: number) => row % 5_003 === 0,
          (row: number) => row >= 65_000 && row < 66_500,
          () => false,
        ]) {
          const [bits, expected] = [bitsOf(rows, allowed), bestOf(sums, allowed, 300, ranks)]
          for (const wanted of [1, 10, 300])
            expect(pairs(searchLexical(query, bits, wanted, ranks))).toEqual(expected.slice(0, wanted))
        }
      }
    })
  })

  test('of an endless question follow from its rarest words, in bounded work', () => {
    const words = Array.from({ length: 250 }, (_, n) => `word${n}`)
    const corpus = words.map((_, n) => ({ language: 'en', heading: '', text: words.slice(n).join(' ') }))
    withIndex(corpus, (index) => {
      const { groups, maximum } = prepareLexical(index, analyzeQuestion(`${words.join(' ')} `.repeat(3), ['en']).words)
      expect(groups.map(({ word }) => word)).toEqual(words.slice(0, LEXICAL_BOUNDS.wordsMax))
      expect(maximum).toBeLessThan(2 ** 31)
    })
  })
})
