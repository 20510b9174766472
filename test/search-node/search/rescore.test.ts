import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { tokenHash } from '#core/index/lexical/token-hash.ts'
import { primaryLanguage } from '#core/index/analysis/analyzer.ts'
import type { ForwardReader } from '#core/index/lexical/forward-reader.ts'
import type { Question } from '#search-node/search/interfaces.ts'
import { RESCORE, greatestScore, rescoreRows, type ContextWindow } from '#search-node/search/rescore.ts'
import { anyCorpus, anyText, said, termsOf, withForward, type ForwardPassage } from '#test/support/lexical-index.ts'

function contextWindow(
  corpus: readonly ForwardPassage[],
  allowed: (row: number) => boolean = () => true,
): ContextWindow {
  return { rows: corpus.length, sameRevisionAsPrevious: (row) => corpus[row]?.sameRevisionAsPrevious === true, allowed }
}

const everyRow = (corpus: readonly unknown[]): Uint32Array => Uint32Array.from(corpus.keys())

/** The formula of decision 0008, computed from the texts alone. */
function naiveScores(
  corpus: readonly ForwardPassage[],
  { words, pairs, pairsWeight }: Question,
  allowed: (row: number) => boolean,
): number[] {
  const { k1, b, beside, near, pairs: pairsShare, pairK1, pairB } = RESCORE
  const texts = corpus.map((passage) => {
    const hashes = (terms: readonly string[]): number[] =>
      terms.map((term) => tokenHash(primaryLanguage(passage.language), term))
    const { heading, text } = termsOf(passage)
    return { own: [...hashes(heading), ...hashes(text)], text: hashes(text) }
  })
  const revisions: number[] = []
  for (const [row, { sameRevisionAsPrevious }] of corpus.entries())
    revisions.push(row > 0 && sameRevisionAsPrevious ? (revisions[row - 1] ?? 0) : row)
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / corpus.length
  const neighbours = (row: number, distance: number): number[] =>
    [row - distance, row + distance].filter((other) => revisions[other] === revisions[row])
  const besideLength = (distance: number): number =>
    mean(
      texts.map((_, row) =>
        neighbours(row, distance).reduce((sum, other) => sum + (texts[other]?.text.length ?? 0), 0),
      ),
    )
  const ownMean = mean(texts.map(({ own }) => own.length))
  const wideMean = ownMean + beside * besideLength(1) + near * besideLength(2)
  const most = words.reduce((sum, { idf }) => sum + idf * (k1 + 1), 0) + pairsShare * (pairK1 + 1) * pairsWeight
  const saturated = (occurrences: number, k: number, share: number, length: number, average: number): number =>
    occurrences === 0
      ? 0
      : ((k + 1) * occurrences) / (occurrences + k * (1 - share + (share * length) / Math.max(1, average)))
  return texts.map(({ own }, row) => {
    if (!words.some(({ hashes }) => own.some((word) => hashes.includes(word)))) return 0
    const context = [1, 2].flatMap((distance) =>
      neighbours(row, distance)
        .filter(allowed)
        .map((other) => ({ words: texts[other]?.text ?? [], weight: distance === 1 ? beside : near })),
    )
    const fields = [{ words: own, weight: 1 }, ...context]
    const total = (measure: (field: readonly number[]) => number): number =>
      fields.reduce((sum, field) => sum + field.weight * measure(field.words), 0)
    const length = total((field) => field.length)
    const ofWords = words.map(
      ({ idf, hashes }) =>
        idf *
        saturated(
          total((field) => field.filter((word) => hashes.includes(word)).length),
          k1,
          b,
          length,
          wideMean,
        ),
    )
    const ofPairs = pairs.map(({ first, second, weight }) => {
      const occurrences = own.filter((word, at) => word === first && own[at + 1] === second).length
      return weight * saturated(occurrences, pairK1, pairB, own.length, ownMean)
    })
    const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0)
    return most === 0 ? 0 : (sum(ofWords) + pairsShare * sum(ofPairs)) / most
  })
}

/** Passages without a word of their own leave their neighbours' mean length to the writer's tests. */
const wordyCorpus = anyCorpus.map((corpus) => corpus.map((passage) => ({ ...passage, text: `anchor ${passage.text}` })))

/** Every row asked for on its own. */
function oneByOne(question: Question, forward: ForwardReader, around: ContextWindow): number[] {
  return Array.from(
    { length: around.rows },
    (_, row) => rescoreRows(question, forward, around, Uint32Array.of(row))[0] ?? -1,
  )
}

describe('the closer look at candidates', () => {
  test('scores as the formula does over any texts, neighbours and filters', () => {
    fc.assert(
      fc.property(
        wordyCorpus,
        anyText,
        fc.array(fc.boolean(), { minLength: 9, maxLength: 9 }),
        (corpus, text, allowed) => {
          withForward(corpus, ({ forward, ask }) => {
            const question = ask(text)
            const isAllowed = (row: number): boolean => allowed[row] === true
            const scores = rescoreRows(question, forward, contextWindow(corpus, isAllowed), everyRow(corpus))
            const expected = naiveScores(corpus, question, isAllowed)
            for (const [row, score] of scores.entries()) expect(score).toBeCloseTo(expected[row] ?? -1, 10)
          })
        },
      ),
    )
  })

  test('gives scores from 0 to below 1', () => {
    fc.assert(
      fc.property(anyCorpus, anyText, (corpus, text) => {
        withForward(corpus, ({ forward, ask }) => {
          for (const score of rescoreRows(ask(text), forward, contextWindow(corpus), everyRow(corpus))) {
            expect(score).toBeGreaterThanOrEqual(0)
            expect(score).toBeLessThan(1)
          }
        })
      }),
      { numRuns: 40 },
    )
  })

  test('gives a row the same score whatever the other candidates are, and in whatever order', () => {
    fc.assert(
      fc.property(anyCorpus, anyText, fc.array(fc.nat()), (corpus, text, picks) => {
        withForward(corpus, ({ forward, ask }) => {
          const question = ask(text)
          const around = contextWindow(corpus)
          const alone = oneByOne(question, forward, around)
          const rows = Uint32Array.from(picks, (pick) => pick % corpus.length)
          expect([...rescoreRows(question, forward, around, rows)]).toEqual([...rows].map((row) => alone[row]))
        })
      }),
      { numRuns: 40 },
    )
  })

  test('scores rows alike whether they are read one by one, with the rows between them, or in separate reads', () => {
    const corpus = Array.from({ length: 600 }, (_, n) =>
      said(`anchor ${n % 7 === 0 ? 'ballast cargo' : 'cargo'} w${n}`, { sameRevisionAsPrevious: n % 5 !== 0 }),
    )
    withForward(corpus, ({ forward, ask }) => {
      const question = ask('ballast cargo')
      const around = contextWindow(corpus)
      const expected = naiveScores(corpus, question, () => true)
      const alone = oneByOne(question, forward, around)
      for (const [row, score] of alone.entries()) expect(score).toBeCloseTo(expected[row] ?? -1, 10)
      const anyRows = fc.uniqueArray(fc.nat({ max: corpus.length - 1 }), { maxLength: 120 })
      const anyOrder = fc.oneof(
        anyRows,
        anyRows.map((rows) => rows.sort((a, b) => a - b)),
      )
      fc.assert(
        fc.property(anyOrder, (picks) => {
          expect([...rescoreRows(question, forward, around, Uint32Array.from(picks))]).toEqual(
            picks.map((row) => alone[row]),
          )
        }),
      )
      expect([...rescoreRows(question, forward, around, everyRow(corpus))]).toEqual(alone)
    })
  })

  test('of a question without words is 0 for every row', () => {
    withForward([said('anchor')], ({ forward, ask }) => {
      expect(rescoreRows(ask('?'), forward, contextWindow([said('anchor')]), Uint32Array.of(0))).toEqual(
        Float64Array.of(0),
      )
    })
  })
})

describe('pairs of words', () => {
  const apart = [said('ballast anchor'), said('ballast cargo anchor'), said('cargo anchor ballast cargo')]

  test('add 0.6 of their own BM25 to the passage that has them side by side, in order', () => {
    // All lengths are as computed by hand: rows of 2, 3 and 4 words, 3 in the mean; the pair stands in one row of
    // three, its words in all.
    withForward(apart, ({ forward, ask }) => {
      const question = ask('anchor ballast')
      const scores = rescoreRows(question, forward, contextWindow(apart), everyRow(apart))
      const idf = (frequency: number): number => Math.log(1 + (3 - frequency + 0.5) / (frequency + 0.5))
      const weight = idf(1) - idf(3)
      const most = 2 * idf(3) * 1.9 + 0.6 * 1.3 * weight
      const ofPair = (0.6 * weight * 1.3) / (1 + 0.3 * (0.5 + (0.5 * 4) / 3))
      expect(greatestScore(question)).toBeCloseTo(most, 12)
      const ofWords = ['anchor', 'ballast'].map((text) => {
        const alone = ask(text)
        return rescoreRows(alone, forward, contextWindow(apart), everyRow(apart)).map((s) => s * greatestScore(alone))
      })
      const added = Array.from(
        scores,
        (score, row) => score * most - (ofWords[0]?.[row] ?? 0) - (ofWords[1]?.[row] ?? 0),
      )
      expect(added).toEqual([expect.closeTo(0, 12), expect.closeTo(0, 12), expect.closeTo(ofPair, 12)])
    })
  })
})
