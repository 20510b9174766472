import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PREDICTORS } from '#core/domain/predictors.ts'
import { predictorsOf } from '#search-node/search/predictors.ts'
import { NOTHING, NO_COVERAGE, ranked } from './features.ts'
import { said, withForward } from '#test/support/lexical-index.ts'

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
          texts: [{ text: '', question }],
          questionWords: WIDTH,
          passages: ROWS,
          forward,
          lexical: ranked(rows, scores),
          dense: dense.length === 0 ? NOTHING : ranked(dense),
          documents: Uint32Array.from(documents),
          coverage: NO_COVERAGE,
          named: undefined,
        })
        const figure = (name: (typeof PREDICTORS)[number]): number => figures[PREDICTORS.indexOf(name)] ?? Number.NaN
        const first = documents[rows[0] ?? 0]
        const alone = [...rows, ...dense].every((row) => documents[row] === first)
        const share = rows.filter((row) => documents[row] === first).length / rows.length
        expect(figure('document_share')).toBe(alone ? 0 : share)
        expect(figure('nearest_vector')).toBe(dense.length === 0 ? 0 : ranked(dense).scores[0])
      }),
      { numRuns: 300 },
    )
  })
})
