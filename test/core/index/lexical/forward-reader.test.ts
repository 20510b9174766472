import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { tokenHash } from '#core/index/lexical/token-hash.ts'
import { primaryLanguage } from '#core/index/analysis/analyzer.ts'
import { anyCorpus, said, termsOf, withForward, type ForwardPassage } from '#test/support/lexical-index.ts'

const hashesOf = (passage: ForwardPassage, field: 'heading' | 'text'): number[] =>
  termsOf(passage)[field].map((term) => tokenHash(primaryLanguage(passage.language), term))

describe('the words of rows', () => {
  test('come back as they were written, whichever rows are read together', () => {
    fc.assert(
      fc.property(anyCorpus, fc.nat(), fc.nat(), (corpus, one, other) => {
        const [from, to] = [one % corpus.length, other % corpus.length].sort((a, b) => a - b) as [number, number]
        withForward(corpus, ({ forward }) => {
          const { words, tokens, textStart, end } = forward.read(from, to)
          for (const [row, passage] of corpus.slice(from, to + 1).entries()) {
            expect([...words(from + row)]).toEqual([...hashesOf(passage, 'heading'), ...hashesOf(passage, 'text')])
            expect([...tokens.subarray(textStart(from + row), end(from + row))]).toEqual(hashesOf(passage, 'text'))
          }
        })
      }),
      { numRuns: 40 },
    )
  })

  test('are read whole where they are more than the buffer held before', () => {
    const long = Array.from({ length: 5_000 }, (_, n) => `w${n}`)
    withForward([said('short'), said(long.join(' ')), said('short')], ({ forward }) => {
      expect([...forward.read(0, 0).words(0)]).toEqual([tokenHash('xx', 'short')])
      const { words } = forward.read(0, 2)
      expect([...words(1)]).toEqual(long.map((word) => tokenHash('xx', word)))
      expect([...words(2)]).toEqual([tokenHash('xx', 'short')])
    })
  })
})

test('two words are counted in no fewer rows than hold them side by side', () => {
  fc.assert(
    fc.property(anyCorpus, (corpus) => {
      withForward(corpus, ({ forward }) => {
        const rows = corpus.map((passage) => [...hashesOf(passage, 'heading'), ...hashesOf(passage, 'text')])
        for (const words of rows) {
          for (const [at, first] of words.slice(0, -1).entries()) {
            const second = words[at + 1] ?? 0
            const holding = rows.filter((others) =>
              others.some((word, place) => word === first && others[place + 1] === second),
            )
            expect(forward.pairFrequency(first, second)).toBeGreaterThanOrEqual(holding.length)
          }
        }
      })
    }),
    { numRuns: 40 },
  )
})
