import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { PREDICTORS } from '#core/domain/predictors.ts'
import { predictorsOf, type PredictorInput } from '#search-node/search/predictors.ts'
import { NOTHING, NO_COVERAGE, featuresOf, measured, ranked, type Features } from './features.ts'
import { anyCorpus, anyText, said, withForward } from '#test/support/lexical-index.ts'

const ROWS = 12

/** Features of a list over passages that all say "anchor ballast", two a document; given fields override it. */
function featuresWith(change: Partial<PredictorInput>, query = 'anchor ballast'): Features {
  const corpus = Array.from({ length: ROWS }, () => said('anchor ballast'))
  return withForward(corpus, ({ forward, ask }) => {
    const question = ask(query)
    const lexical = change.lexical ?? ranked([0, 1, 2])
    return featuresOf(
      predictorsOf({
        texts: [{ text: '', question }],
        questionWords: 2,
        passages: corpus.length,
        forward,
        lexical,
        dense: NOTHING,
        documents: Uint32Array.from(corpus.keys(), (row) => row >>> 1),
        coverage: NO_COVERAGE,
        named: undefined,
        ...change,
      }),
    )
  })
}

describe('the features of a list', () => {
  /** The greatest idf, of a word that no row holds, is ln(2 + 2 × rows). */
  const greatestIdf = (rows: number): number => Math.log(2 + 2 * rows) / Math.log(1 + rows)

  function expectWithinRanges(features: Features, rows: number): void {
    const { first_length: length, mean_idf: idf, nearest_vector: nearest, ...others } = features
    const { words_best, grams_best, grams_mass, document_share, ...shares } = others
    for (const beyond of [words_best, grams_best, grams_mass, document_share])
      expect(Math.abs(beyond)).toBeLessThanOrEqual(1 + 1e-9)
    expect(Math.abs(nearest)).toBeLessThanOrEqual(1)
    for (const [name, share] of Object.entries(shares)) {
      expect(share, name).toBeGreaterThanOrEqual(-1e-9)
      expect(share, name).toBeLessThanOrEqual(1 + 1e-9)
    }
    expect(length).toBeGreaterThanOrEqual(0)
    expect(idf).toBeGreaterThanOrEqual(0)
    expect(idf).toBeLessThanOrEqual(greatestIdf(rows) + 1e-9)
  }

  const anyCosines = fc.array(fc.double({ min: -1, max: 1, noNaN: true }), { maxLength: 9 })

  test('are finite and within their ranges for any corpus, question, documents and vectors', () => {
    fc.assert(
      fc.property(
        anyCorpus,
        anyText,
        anyCosines,
        fc.array(fc.nat({ max: 3 }), { minLength: 9, maxLength: 9 }),
        (corpus, text, cosines, documents) => {
          const scores = cosines.slice(0, corpus.length).sort((a, b) => b - a)
          const list = measured(
            corpus,
            text,
            ranked([...scores.keys()].toReversed(), scores),
            Uint32Array.from(documents),
          )
          expect(list.every(Number.isFinite)).toBe(true)
          expectWithinRanges(featuresOf(list), corpus.length)
        },
      ),
    )
  })

  test.each([
    ['one row', [said('anchor ballast')], ranked([0])],
    ['one row without vectors', [said('anchor ballast')], NOTHING],
    ['one document', [said('anchor'), said('ballast anchor'), said('cargo')], ranked([2, 0])],
    ['no vectors', [said('anchor'), said('ballast anchor')], NOTHING],
  ])('are finite and within their ranges for %s', (_, corpus, dense) => {
    const list = measured(corpus, 'anchor ballast', dense, new Uint32Array(corpus.length))
    expect(list.every(Number.isFinite)).toBe(true)
    expectWithinRanges(featuresOf(list), corpus.length)
    expect(featuresOf(list)).toMatchObject({ document_share: 0, document_agreement: 0.5, first_coverage: 1 })
  })

  test('are 0 when no passage shares a word with the question, but for those of the question itself', () => {
    const corpus = [said('anchor'), said('ballast')]
    const unfound = (text: string): Features => featuresOf(measured(corpus, text, NOTHING, Uint32Array.of(0, 1)))
    const nothing = featuresOf(PREDICTORS.map(() => 0))
    for (const text of ['?', '']) expect(unfound(text)).toEqual(nothing)
    const { content_share, mean_idf, ...others } = unfound('cargo')
    expect({ ...nothing, ...others }).toEqual(nothing)
    expect([content_share, mean_idf]).toEqual([1, greatestIdf(corpus.length)])
  })

  test('say whether the list holds a named provision, and what that lacks of the question', () => {
    expect(featuresWith({})).toMatchObject({ named: 0, named_missing: 0, named_margin: 0 })
    expect(featuresWith({ named: { missing: 7, elsewhere: 0.5, margin: -0.1 } })).toMatchObject({
      named: 1,
      named_missing: 7,
      named_elsewhere: 0.5,
      named_margin: -0.1,
    })
  })

  test('come in the order of the wire format', () => {
    const features = featuresWith({ lexical: ranked([0, 2, 4, 6]), dense: ranked([0, 2, 4, 6]), questionWords: 4 })
    expect(features).toMatchObject({
      document_share: 0.25,
      content_share: 0.5,
      first_length: Math.log(3),
      near_pairs: 1,
    })
  })
})

describe('documents', () => {
  test('document_share and document_agreement say nothing where one document holds everything', () => {
    expect(featuresWith({ lexical: ranked([0, 1]), dense: ranked([1]) })).toMatchObject({
      document_share: 0,
      document_agreement: 0.5,
    })
    expect(featuresWith({ lexical: ranked([0, 1]), dense: ranked([1, 2]) }).document_share).toBe(1)
  })

  const lists = fc.record({
    rows: fc.uniqueArray(fc.nat({ max: ROWS - 1 }), { minLength: 1 }),
    near: fc.uniqueArray(fc.nat({ max: ROWS - 1 })),
    documents: fc.array(fc.nat({ max: 3 }), { minLength: ROWS, maxLength: ROWS }),
  })

  test('document_share and nearest_vector of any lists are what their definitions give', () => {
    fc.assert(
      fc.property(lists, ({ rows, near, documents }) => {
        const dense = ranked(near)
        const features = featuresWith({ lexical: ranked(rows), dense, documents: Uint32Array.from(documents) })
        const ofFirst = (row: number): boolean => documents[row] === documents[rows[0] ?? 0]
        const share = rows.filter(ofFirst).length / rows.length
        expect(features.document_share).toBe([...rows, ...near].every(ofFirst) ? 0 : share)
        expect(features.nearest_vector).toBe(dense.scores[0] ?? 0)
      }),
    )
  })

  test('document_agreement is the greatest mean of the lexical and the dense weight of a document', () => {
    // By words documents 0 and 1 have equal weights; the vectors prefer document 1 by e, then 2.
    const features = featuresWith({ lexical: ranked([0, 2], [0.6, 0.6]), dense: ranked([3, 4], [0.5, 0.473]) })
    const ofSecond = (1 / 2 + 1 / (1 + Math.exp(-1))) / 2
    expect(features.document_agreement).toBeCloseTo(ofSecond, 12)
  })

  test('document_agreement is 1 if both rank one document far above others, and at most 0.5 without vectors', () => {
    expect(
      featuresWith({ lexical: ranked([0, 1, 2], [0.9, 0.9, 0.1]), dense: ranked([1, 4], [0.9, 0.1]) })
        .document_agreement,
    ).toBeCloseTo(1, 9)
    expect(featuresWith({ lexical: ranked([0, 2], [0.9, 0.1]) }).document_agreement).toBeLessThanOrEqual(0.5)
  })
})

describe('words of the question', () => {
  test('content_share is the share of the question’s words that are no function words, never more than 1', () => {
    expect([
      featuresWith({ questionWords: 8 }).content_share,
      featuresWith({ questionWords: 1 }).content_share,
    ]).toEqual([0.25, 1])
  })

  test('mean_idf and idf_deviation are relative to the logarithm of the passages', () => {
    // Twelve rows hold "anchor", none holds "embargo".
    const [common, unknown] = [Math.log(1 + 0.5 / 12.5), Math.log(1 + 12.5 / 0.5)]
    const { mean_idf: mean, idf_deviation: deviation } = featuresWith({}, 'anchor embargo')
    expect(mean).toBeCloseTo((common + unknown) / 2 / Math.log(13), 12)
    expect(deviation).toBeCloseTo((unknown - common) / 2 / Math.log(13), 12)
  })

  test('near_pairs says nothing for a question of one word', () => {
    expect(featuresWith({}, 'anchor')).toMatchObject({ near_pairs: 0.5 })
  })
})
