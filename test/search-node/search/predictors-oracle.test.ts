import fc from 'fast-check'
import { expect, test } from 'vitest'
import { largest } from '#core/platform/top-k.ts'
import { PREDICTORS } from '#core/domain/predictors.ts'
import { predictorsOf } from '#search-node/search/predictors.ts'
import { NOTHING, ranked } from '#test/support/search-node/features.ts'
import { said, withForward } from '#test/support/search-node/forward-corpus.ts'

const WIDTH = 4
const ROWS = 12

/** Few values, so that many are equal. */
const contribution = fc.constantFrom(0, 0, 0.1, 0.2, 0.3)
const lists = fc.record({
  rows: fc.uniqueArray(fc.nat({ max: ROWS - 1 }), { minLength: 1 }),
  dense: fc.uniqueArray(fc.nat({ max: ROWS - 1 })),
  contributions: fc.array(contribution, { minLength: ROWS * WIDTH, maxLength: ROWS * WIDTH }),
  documents: fc.array(fc.nat({ max: 3 }), { minLength: ROWS, maxLength: ROWS }),
})
const corpus = Array.from({ length: ROWS }, (_, n) => said(`anchor ballast cargo dredge ${n}`))

/** By its definition: the lists with and without a word, sorted. */
function stability(scores: readonly number[], contributions: readonly number[]): number {
  const size = Math.min(5, scores.length)
  const shares = Array.from({ length: WIDTH }, (_, place) => {
    const without = scores.map((score, at) => score - (contributions[at * WIDTH + place] ?? 0))
    if (without.every((score, at) => score === scores[at])) return undefined
    return [...largest(without, size).ids].filter((at) => at < size).length / size
  }).filter((share) => share !== undefined)
  return shares.length === 0 ? 0 : shares.reduce((sum, share) => sum + share, 0) / shares.length
}

test('predictors of any lists are what their definitions give', () => {
  withForward(corpus, ({ forward, ask }) => {
    const question = ask('anchor ballast cargo dredge')
    expect(question.words).toHaveLength(WIDTH)
    fc.assert(
      fc.property(lists, ({ rows, dense, contributions, documents }) => {
        const sums = rows.map((_, at) =>
          contributions.slice(at * WIDTH, (at + 1) * WIDTH).reduce((sum: number, value) => sum + value, 0),
        )
        const scores = sums.toSorted((a, b) => b - a)
        const figures = predictorsOf({
          question,
          questionWords: WIDTH,
          passages: ROWS,
          forward,
          lexical: ranked(rows, scores),
          contributions: Float64Array.from(contributions.slice(0, rows.length * WIDTH)),
          dense: dense.length === 0 ? NOTHING : ranked(dense),
          documents: Uint32Array.from(documents),
          standardised: true,
          named: undefined,
          first: corpus[rows[0] ?? 0],
        })
        const figure = (name: (typeof PREDICTORS)[number]): number => figures[PREDICTORS.indexOf(name)] ?? Number.NaN
        expect(figure('word_stability')).toBeCloseTo(stability(scores, contributions), 12)
        const first = documents[rows[0] ?? 0]
        const alone = [...rows, ...dense].every((row) => documents[row] === first)
        const share = rows.filter((row) => documents[row] === first).length / rows.length
        expect(figure('document_share')).toBe(alone ? 0.5 : share)
        // A mean of equal numbers may be rounded up.
        expect(figure('fused_best') + 1e-12).toBeGreaterThanOrEqual(figure('fused_top'))
      }),
      { numRuns: 300 },
    )
  })
})
