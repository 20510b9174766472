import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  aurc,
  auroc,
  aurocInterval,
  coverageAtRisk,
  expectedCalibrationError,
  operatingPoints,
  reliabilityBins,
  riskCoverageCurve,
  selectiveRisks,
  decisionFigures,
} from '#jobs/evaluation/metrics/abstention.ts'
import type { ScoredQuestion } from '#jobs/evaluation/metrics/abstention.ts'

/** @param sufficient of the question at the same place of the scores: 1 with evidence, 0 without. */
function scored(scores: readonly number[], sufficient: readonly (0 | 1)[]): readonly ScoredQuestion[] {
  return scores.map((score, at) => ({ score, sufficient: sufficient[at] === 1 }))
}

const eight = scored([0.9, 0.8, 0.8, 0.7, 0.6, 0.6, 0.5, 0.3], [1, 1, 0, 1, 0, 1, 0, 0])

const manyScored = fc.array(
  fc.record({ score: fc.integer({ min: 0, max: 12 }).map((n) => n / 12), sufficient: fc.boolean() }),
  { minLength: 1, maxLength: 40 },
)

describe('AUROC', () => {
  test('equals the value of scikit-learn on a set with ties', () => {
    expect(auroc(eight)).toBeCloseTo(0.8125, 15)
  })

  test('is the share of pairs won, ties counting half, in any order of the questions', () => {
    fc.assert(
      fc.property(manyScored, (questions) => {
        const pairs = questions
          .filter((one) => one.sufficient)
          .flatMap((one) =>
            questions.filter((other) => !other.sufficient).map((other) => Math.sign(one.score - other.score)),
          )
        const expected =
          pairs.length === 0 ? undefined : pairs.reduce<number>((sum, sign) => sum + (sign + 1) / 2, 0) / pairs.length
        const found = auroc(questions)
        expect(found ?? -1).toBeCloseTo(expected ?? -1, 12)
        expect(auroc(questions.toReversed())).toBe(found)
      }),
    )
  })

  test('has an interval around it that does not depend on the order of the questions', () => {
    const questions = Array.from({ length: 300 }, (_, at) => ({
      score: ((at * 37) % 100) / 100 + (at % 2) * 0.3,
      sufficient: at % 2 === 1,
    }))
    const [low, high] = aurocInterval(questions) ?? [0, 0]
    const value = auroc(questions) ?? 0
    expect(low).toBeLessThan(value)
    expect(high).toBeGreaterThan(value)
    expect(high - low).toBeLessThan(0.15)
    expect(aurocInterval(questions.toReversed())).toEqual([low, high])
    expect(aurocInterval([])).toBeUndefined()
    expect(aurocInterval(scored([0.5], [1]))).toBeUndefined()
  })
})

describe('risk and coverage', () => {
  test('equal the values counted by hand, with the mean over all orders within a tie', () => {
    // Answers: 1 of 1 good; then a tie of one good and one bad; good; a tie of one good and one bad; bad; bad.
    const risks = [0, 0.5 / 2, 1 / 3, 1 / 4, 1.5 / 5, 2 / 6, 3 / 7, 4 / 8]
    for (const [at, risk] of selectiveRisks(eight).entries()) expect(risk).toBeCloseTo(risks[at] ?? -1, 14)
    expect(aurc(eight)).toBeCloseTo(risks.reduce((sum, risk) => sum + risk, 0) / 8, 14)
    expect(aurc([])).toBeUndefined()
  })

  test('within ties equal the mean over every order', () => {
    const tied = scored([0.5, 0.5, 0.5], [1, 0, 0])
    // The bad answers stand at places 2 3, 1 3, or 1 2.
    expect([...selectiveRisks(tied)]).toEqual([2 / 3, 2 / 3, 2 / 3])
  })

  test('give thresholds that answer equal scores together', () => {
    expect(operatingPoints(eight).map(({ threshold, coverage }) => [threshold, coverage])).toEqual([
      [0.9, 1 / 8],
      [0.8, 3 / 8],
      [0.7, 4 / 8],
      [0.6, 6 / 8],
      [0.5, 7 / 8],
      [0.3, 1],
    ])
  })

  test('at a target risk are those of the best threshold there is', () => {
    expect(coverageAtRisk(eight, 0.3)).toEqual({ threshold: 0.7, coverage: 0.5, risk: 0.25 })
    expect(coverageAtRisk(scored([0.9, 0.8], [0, 1]), 0.4)).toBeUndefined()
    fc.assert(
      fc.property(
        manyScored,
        fc.integer({ min: 0, max: 10 }).map((n) => n / 10),
        (questions, target) => {
          const coverages = questions.flatMap(({ score }) => {
            const answered = questions.filter((question) => question.score >= score)
            return answered.filter((question) => !question.sufficient).length / answered.length <= target
              ? [answered.length / questions.length]
              : []
          })
          expect(coverageAtRisk(questions, target)?.coverage).toBe(
            coverages.length === 0 ? undefined : Math.max(...coverages),
          )
        },
      ),
    )
  })

  test('make a curve of at most so many points that ends with every question answered', () => {
    const questions = Array.from({ length: 130 }, (_, at) => ({ score: at / 130, sufficient: at % 3 !== 0 }))
    const curve = riskCoverageCurve(questions, 50)
    expect(curve).toHaveLength(50)
    expect(curve.at(-1)).toEqual([1, 44 / 130])
    expect(curve.map(([coverage]) => coverage)).toEqual(curve.map(([coverage]) => coverage).toSorted((a, b) => a - b))
    expect(riskCoverageCurve(eight, 50)).toHaveLength(8)
    expect(riskCoverageCurve([], 50)).toEqual([])
  })
})

describe('calibration of probabilities', () => {
  const certain = scored([1, 1, 0.95, 0, 0.5], [1, 0, 1, 0, 1])

  test('is counted in fifteen bins of equal width, with a probability of one in the last', () => {
    const bins = reliabilityBins(certain)
    expect(bins).toHaveLength(15)
    expect(bins.map((bin) => bin.questions)).toEqual([1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 3])
    expect(bins[14]).toMatchObject({ predicted: expect.closeTo(2.95 / 3, 14), observed: 2 / 3, to: 1 })
    expect(bins[1]).toMatchObject({ predicted: null, observed: null })
  })

  test('errs by the distance between predicted and observed, weighted by questions', () => {
    expect(expectedCalibrationError(certain)).toBeCloseTo((0 + 0.5 + (2.95 - 2)) / 5, 14)
    expect(expectedCalibrationError([])).toBeUndefined()
    expect(() => reliabilityBins(scored([-0.2], [1]))).toThrow(RangeError)
  })
})

const rule = { signal: 'evidence_probability', threshold: 0.7, target_risk: 0.3, folds: 5 }
const questions = scored([0.9, 0.8, 0.75, 0.7, 0.4], [1, 0, 1, 1, 0])

test('a decision is measured at its threshold and at its target', () => {
  const figures = decisionFigures(questions, rule)
  expect(figures).toMatchObject({
    ...rule,
    answered_sufficient: 1,
    answered_insufficient: 0.5,
    coverage_at_target: 0.8,
    auroc: expect.closeTo(4 / 6, 14),
  })
  expect(figures.curve.at(-1)).toEqual([1, 0.4])
})

test('a target that no threshold keeps has a coverage of zero', () => {
  const doubtful = questions.map((question) => ({ ...question, sufficient: !question.sufficient }))
  expect(decisionFigures(doubtful, { ...rule, target_risk: 0.05 }).coverage_at_target).toBe(0)
})

test('questions of one kind tell how many are answered and nothing else', () => {
  const answerable = questions.filter(({ sufficient }) => sufficient)
  expect(decisionFigures(answerable, rule)).toMatchObject({
    auroc: null,
    auroc_ci: null,
    aurc: null,
    ece: null,
    coverage_at_target: null,
    answered_sufficient: 1,
    answered_insufficient: null,
    curve: [],
    reliability: [],
  })
})
