import { describe, expect, test } from 'vitest'
import { DEFAULT_CALIBRATION } from '#core/domain/default-calibration.ts'
import type { Calibration } from '#core/domain/calibration.ts'
import { fitDecision, observedValue, rankingsOf, scoredBy } from '#jobs/evaluate/figures.ts'
import { outcomeOf } from '#jobs/evaluate/outcomes.ts'
import type { Outcome } from '#jobs/evaluate/outcomes.ts'
import { queryWithQrels, measured, replyWith } from '#test/support/jobs/asking.ts'

/** The logistic function of the window's coverage. */
const calibration: Calibration = {
  ...DEFAULT_CALIBRATION,
  features: ['window_coverage'],
  means: [0],
  scales: [1],
  coefficients: [1],
  intercept: 0,
}

const outcome = (id: string, right: boolean, coverage = 0): Outcome =>
  outcomeOf(
    queryWithQrels(id),
    replyWith([right ? `${id}-answer` : 'another'], measured({ window_coverage: coverage })),
  )
const NOTHING_FOUND: Outcome = { figures: undefined, top: [], predictors: measured({ window_coverage: 1 }) }

test('the ranking of each system is the mean over the questions that have a relevant record', () => {
  const unjudged: Outcome = { figures: undefined, top: [{ record: 'a', score: 1 }], predictors: [] }
  const [right, wrong] = [outcome('a', true), outcome('b', false)]
  const { lexical, dense, hybrid } = rankingsOf({
    lexical: [right, wrong, unjudged],
    dense: [wrong, wrong, unjudged],
    hybrid: [right, right, unjudged],
  })
  expect([lexical['recall@10'], dense['recall@10'], hybrid['recall@10']]).toEqual([0.5, 0, 1])
})

describe('the decision', () => {
  const questions = [
    ...Array.from({ length: 40 }, (_, at) => queryWithQrels(`a${at}`, { answerable: true })),
    ...Array.from({ length: 40 }, (_, at) => queryWithQrels(`u${at}`, { answerable: false })),
    queryWithQrels('unlabelled'),
  ]
  const outcomes = questions.map(({ id, answerable }, at) =>
    outcome(id, true, (answerable === true ? 0.6 : 0) + (at % 40) / 100),
  )

  test('is fitted on the labelled questions alone, by the features under their names', () => {
    const fitted = fitDecision(questions, outcomes, 0.05)
    expect(fitted?.calibration).toMatchObject({ questions: 80, answerable: 40, target_risk: 0.05, auroc: 1 })
    const { features = [], coefficients = [] } = fitted?.calibration ?? {}
    expect(Math.max(...coefficients)).toBe(coefficients[features.indexOf('window_coverage')])
    expect(fitted?.outOfFold.map(({ id }) => id)).not.toContain('unlabelled')
  })

  test('keeps the questions of a group in one fold', () => {
    const grouped = questions.map((each, at) => ({ ...each, group: `g${at % 3}` }))
    expect(fitDecision(grouped, outcomes, 0.05)?.calibration.folds).toBe(3)
    expect(
      fitDecision(
        questions.map((each) => ({ ...each, group: 'one' })),
        outcomes,
        0.05,
      ),
    ).toBeUndefined()
  })

  test('is not fitted without enough questions of both kinds', () => {
    expect(fitDecision(questions.slice(0, 40), outcomes, 0.05)).toBeUndefined()
    expect(fitDecision(questions.slice(0, 59), outcomes, 0.05)).toBeUndefined()
  })

  test('that was fitted elsewhere scores the labelled questions as the gateway would observe them', () => {
    const scored = scoredBy(
      calibration,
      [queryWithQrels('a', { answerable: true }), queryWithQrels('x'), queryWithQrels('u', { answerable: false })],
      [outcome('a', true, 1), outcome('x', true, 1), NOTHING_FOUND],
    )
    expect(scored).toEqual([
      { id: 'a', sufficient: true, score: 1 / (1 + Math.exp(-1)) },
      { id: 'u', sufficient: false, score: 0 },
    ])
  })

  test('observes 0 where nothing was found, and refuses a list whose features were not measured', () => {
    expect(observedValue(calibration, NOTHING_FOUND)).toBe(0)
    expect(() => observedValue(calibration, { ...outcome('a', true), predictors: [] })).toThrow(RangeError)
  })
})
