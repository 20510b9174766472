import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { tokenHash } from '#core/index/lexical/token-hash.ts'
import { nearPairs, firstCoverage, type RowWords } from '#search-node/search/predictor-words.ts'
import type { ForwardReader } from '#core/index/lexical/forward-reader.ts'
import type { Question } from '#search-node/search/interfaces.ts'
import { anyCorpus, anyText, said, termsOf, withForward, type Passage } from '#test/support/lexical-index.ts'

type Measure = (question: Question, rows: readonly RowWords[]) => number | undefined

function hashesOf(passage: Passage): RowWords {
  const { language, heading, text } = termsOf(passage)
  return Uint32Array.from([...heading, ...text], (term) => tokenHash(language, term))
}

function wordsOf(forward: ForwardReader, rows: number): readonly RowWords[] {
  return Array.from({ length: rows }, (_, row) => forward.read(row, row).words(row).slice())
}

/** The predictors of all rows of a corpus. */
function measured(measure: Measure, query: string, texts: readonly string[]): number | undefined {
  const corpus = texts.map((text) => said(text))
  return withForward(corpus, ({ forward, ask }) => measure(ask(query), wordsOf(forward, corpus.length)))
}

const idf = (frequency: number, rows: number): number => Math.log(1 + (rows - frequency + 0.5) / (frequency + 0.5))

describe('near pairs', () => {
  test('count in order within three words', () => {
    const share = (text: string): number | undefined => measured(nearPairs, 'anchor ballast', [text])
    expect([share('anchor ballast'), share('anchor x ballast'), share('anchor x y ballast')]).toEqual([1, 1, 1])
    expect([share('anchor x y z ballast'), share('ballast anchor')]).toEqual([0, 0])
  })

  test('are those of the one row that has most, not of all together', () => {
    expect(measured(nearPairs, 'anchor ballast cargo', ['anchor ballast', 'ballast cargo'])).toBeCloseTo(0.5, 12)
    expect(measured(nearPairs, 'anchor ballast cargo', ['anchor ballast', 'anchor ballast cargo'])).toBe(1)
  })

  test('weigh as the commoner of their two words', () => {
    // Anchor stands in three rows of four, ballast in two, cargo in one: the pairs weigh as anchor and as ballast.
    const share = measured(nearPairs, 'anchor ballast cargo', ['anchor ballast', 'anchor', 'ballast anchor', 'cargo'])
    expect(share).toBeCloseTo(idf(3, 4) / (idf(3, 4) + idf(2, 4)), 12)
  })

  test('of a single word, or in no row, are not measured', () => {
    expect(measured(nearPairs, 'anchor', ['anchor'])).toBeUndefined()
    expect(withForward([said('anchor ballast')], ({ ask }) => nearPairs(ask('anchor ballast'), []))).toBeUndefined()
  })
})

describe('the coverage of the first passage', () => {
  function covered(query: string, text: string, heading = '', corpus: readonly string[] = ['other']): number {
    return withForward(
      corpus.map((each) => said(each)),
      ({ ask }) => firstCoverage(ask(query), hashesOf({ language: 'xx', heading, text })),
    )
  }

  test('counts a word whole where heading or text says it', () => {
    expect(covered('anchor bridge', 'bridge', 'anchor')).toBe(1)
    expect(covered('anchor bridge', 'bridge')).toBe(0.5)
  })

  test('weighs words by their idf, each once', () => {
    const share = idf(1, 2) / (idf(1, 2) + idf(0, 2))
    expect(covered('anchor anchor bridge', 'anchor', '', ['anchor', 'other'])).toBeCloseTo(share, 12)
  })

  test('of a question that says nothing in the passage’s language is 0', () => {
    expect(covered('?', 'anchor')).toBe(0)
  })
})

test('whatever question and corpus, every measure is a share', () => {
  fc.assert(
    fc.property(anyCorpus, anyText, (corpus, text) => {
      withForward(corpus, ({ forward, ask }) => {
        const question = ask(text)
        const rows = wordsOf(forward, corpus.length)
        const shares = [nearPairs(question, rows) ?? 0, firstCoverage(question, rows[0] ?? new Uint32Array())]
        for (const share of shares) {
          expect(share).toBeGreaterThanOrEqual(-1e-9)
          expect(share).toBeLessThanOrEqual(1 + 1e-9)
        }
      })
    }),
    { numRuns: 40 },
  )
})
