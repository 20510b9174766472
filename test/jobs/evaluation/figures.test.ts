import { describe, expect, test } from 'vitest'
import { fitDecision, observedValue, rankingsOf, scoredBy, type DecisionOptions } from '#jobs/evaluation/figures.ts'
import { outcomeOf, type Outcome } from '#jobs/evaluation/outcomes.ts'
import { decidingByCoverage, measured, queryWithQrels, replyWith } from '#test/support/evaluation.ts'

const calibration = decidingByCoverage()
const OPTIONS: DecisionOptions = { targetRisk: 0.05, embedding: 'openai' }

const outcome = (id: string, right: boolean, coverage = 0): Outcome =>
  outcomeOf(queryWithQrels(id), replyWith([right ? `${id}-answer` : 'another'], measured({ first_coverage: coverage })))
const NOTHING_FOUND: Outcome = {
  figures: undefined,
  top: [],
  found: 0,
  predictors: measured({ first_coverage: 1 }),
  unsupported: [],
}

test('the ranking of each system is the mean over the questions that have a relevant record', () => {
  const unjudged: Outcome = { ...NOTHING_FOUND, top: [{ record: 'a', score: 1 }], found: 1, predictors: [] }
  const [right, wrong] = [outcome('a', true), outcome('b', false)]
  const lexical = [right, wrong, unjudged]
  expect(rankingsOf({ lexical, dense: [wrong, wrong, unjudged], hybrid: [right, right, unjudged] })).toMatchObject({
    lexical: { 'recall@10': 0.5 },
    dense: { 'recall@10': 0 },
    hybrid: { 'recall@10': 1 },
  })
  expect(Object.keys(rankingsOf({ lexical }))).toEqual(['lexical'])
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
    const fitted = fitDecision(questions, outcomes, OPTIONS)
    expect(fitted?.calibration).toMatchObject({ questions: 80, answerable: 40, target_risk: 0.05, auroc: 1 })
    const { features = [], coefficients = [] } = fitted?.calibration ?? {}
    expect(Math.max(...coefficients)).toBe(coefficients[features.indexOf('first_coverage')])
    expect(fitted?.outOfFold.map(({ id }) => id)).not.toContain('unlabelled')
  })

  test('of words alone leaves the score of hashed vectors out, and that of a model has it', () => {
    const featuresOf = (embedding: DecisionOptions['embedding']): readonly string[] | undefined =>
      fitDecision(questions, outcomes, { ...OPTIONS, embedding })?.calibration.features
    const ofWords = featuresOf('none') ?? []
    expect(ofWords).not.toContain('nearest_vector')
    expect(featuresOf('openai')).toEqual([...ofWords, 'nearest_vector'])
    expect(featuresOf('none')).toEqual(ofWords)
  })

  test('weighs what search questions alone hold where the version has any', () => {
    const features = fitDecision(questions, outcomes, { ...OPTIONS, searchQuestions: true })?.calibration.features
    expect(features?.at(-1)).toBe('search_questions_only')
    expect(fitDecision(questions, outcomes, OPTIONS)?.calibration.features).not.toContain('search_questions_only')
  })

  test('keeps the questions of a group in one fold', () => {
    const grouped = questions.map((each, at) => ({ ...each, group: `g${at % 3}` }))
    expect(fitDecision(grouped, outcomes, OPTIONS)?.calibration.folds).toBe(3)
    const oneGroup = questions.map((each) => ({ ...each, group: 'one' }))
    expect(fitDecision(oneGroup, outcomes, OPTIONS)).toBeUndefined()
  })

  test('is not fitted without enough questions of both kinds', () => {
    expect(fitDecision(questions.slice(0, 40), outcomes, OPTIONS)).toBeUndefined()
    expect(fitDecision(questions.slice(0, 59), outcomes, OPTIONS)).toBeUndefined()
  })

  describe('on lists with passages of a named provision', () => {
    const named = [0, 0.2, 0.5, 1].map((coverage, at) => ({
      question: queryWithQrels(`n${at}`, { answerable: coverage > 0.4 }),
      list: outcomeOf(
        queryWithQrels(`n${at}`),
        replyWith(['x'], measured({ named: 1, named_missing: 30 * (1 - coverage), first_coverage: 1e6 })),
      ),
    }))
    const fitted = fitDecision(
      [...questions, ...named.map(({ question }) => question)],
      [...outcomes, ...named.map(({ list }) => list)],
      OPTIONS,
    )

    test('is not fitted: they leave the coefficients as they are', () => {
      const others = fitDecision(questions, outcomes, OPTIONS)?.calibration
      const { features, means, scales, coefficients, intercept } = others ?? {}
      expect(fitted?.calibration).toMatchObject({ features, means, scales, coefficients, intercept })
      expect(features).not.toContain('named')
      expect(features).not.toContain('named_missing')
    })

    test('scores them as the gateway does under the fitted profile, by what they contain of the question', () => {
      if (fitted === undefined) throw new Error('nothing was fitted')
      const scoreOf = (id: string): number | undefined => fitted.outOfFold.find((each) => each.id === id)?.score
      const scores = named.map(({ question }) => scoreOf(question.id))
      expect(scores).toEqual(named.map(({ list }) => observedValue(fitted.calibration, list)))
      expect(scores[0]).toBeLessThan(0.1)
      expect(scores[3]).toBeGreaterThan(0.99)
    })
  })

  test('is refused where a node sends fewer predictors than are fitted', () => {
    const old = outcomes.map((each) => ({ ...each, predictors: each.predictors.slice(0, 5) }))
    expect(() => fitDecision(questions, old, OPTIONS)).toThrow(RangeError)
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
