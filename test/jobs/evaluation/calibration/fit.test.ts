import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { calibrationSchema, modelProbability } from '#core/domain/calibration.ts'
import { CALIBRATION_QUESTIONS_MIN, fitCalibration, thresholdForTarget } from '#jobs/evaluation/calibration/fit.ts'
import type { CalibrationQuestion } from '#jobs/evaluation/calibration/fit.ts'
import type { ScoredQuestion } from '#jobs/evaluation/metrics/abstention.ts'

function answeredAt(questions: readonly ScoredQuestion[], threshold: number): readonly ScoredQuestion[] {
  return questions.filter(({ score }) => score >= threshold)
}

describe('the threshold for a target risk', () => {
  test('lies midway to the next lower probability', () => {
    const questions = [
      { score: 0.9, sufficient: true },
      { score: 0.8, sufficient: true },
      { score: 0.6, sufficient: false },
    ]
    expect(thresholdForTarget(questions, 0.05)).toEqual({
      threshold: expect.closeTo(0.7, 14),
      coverage: 2 / 3,
      risk: 0,
      reached: true,
    })
  })

  test('is the lowest probability seen where every answer may be given', () => {
    expect(thresholdForTarget([{ score: 0.4, sufficient: true }], 0.05)).toEqual({
      threshold: 0.4,
      coverage: 1,
      risk: 0,
      reached: true,
    })
  })

  test('answers nothing that was seen to be doubtful where the target is out of reach', () => {
    const hopeless = [
      { score: 0.98, sufficient: false },
      { score: 0.5, sufficient: true },
    ]
    expect(thresholdForTarget(hopeless, 0.05)).toEqual({
      threshold: expect.closeTo(0.99, 14),
      coverage: 0,
      risk: 0,
      reached: false,
    })
    expect(thresholdForTarget([{ score: 0.3, sufficient: false }], 0.05).threshold).toBe(0.95)
    expect(thresholdForTarget([{ score: 1, sufficient: false }], 0.05).threshold).toBe(1)
  })

  test(
    'keeps the target and answers at most one in ten without evidence, and no cut that does answers ' +
      'more with evidence',
    () => {
      const questions = fc.array(
        fc.record({ score: fc.integer({ min: 0, max: 15 }).map((n) => n / 15), sufficient: fc.boolean() }),
        { minLength: 1, maxLength: 50 },
      )
      const target = fc.integer({ min: 0, max: 20 }).map((n) => n / 20)
      fc.assert(
        fc.property(questions, target, (list, risk) => {
          const insufficient = list.filter(({ sufficient }) => !sufficient).length
          const at = (threshold: number): { readonly right: number; readonly wrong: number } => {
            const right = answeredAt(list, threshold).filter(({ sufficient }) => sufficient).length
            return { right, wrong: answeredAt(list, threshold).length - right }
          }
          const keeps = ({ right, wrong }: ReturnType<typeof at>): boolean =>
            wrong / (right + wrong) <= risk && wrong <= insufficient * 0.1
          const kept = list.map(({ score }) => at(score)).filter(keeps)
          const fitted = thresholdForTarget(list, risk)
          expect(fitted.threshold).toBeGreaterThanOrEqual(0)
          expect(fitted.threshold).toBeLessThanOrEqual(1)
          expect(fitted.reached).toBe(kept.length > 0)
          if (kept.length === 0) return
          expect(keeps(at(fitted.threshold))).toBe(true)
          expect(at(fitted.threshold).right).toBe(Math.max(...kept.map(({ right }) => right)))
          expect(fitted.coverage).toBe(answeredAt(list, fitted.threshold).length / list.length)
        }),
      )
    },
  )
})

/** One informative feature and one of noise. */
function questionSet(count: number): readonly CalibrationQuestion[] {
  return Array.from({ length: count }, (_, at) => {
    const noise = ((at * 7_919) % 101) / 101
    const sufficient = at % 5 < 3
    return { id: `q${at}`, features: [(sufficient ? 1 : 0) + 1.6 * noise, ((at * 31) % 17) / 17], sufficient }
  })
}
const options = { features: ['top', 'noise'], targetRisk: 0.05 }

describe('a fitted calibration', () => {
  test('fits the schema of a profile and tells questions with evidence from those without', () => {
    const fitted = fitCalibration(questionSet(500), options)
    const calibration = calibrationSchema.parse(fitted?.calibration)
    expect(calibration).toMatchObject({
      features: ['top', 'noise'],
      questions: 500,
      answerable: 300,
      folds: 5,
      target_risk: 0.05,
    })
    expect(calibration.auroc).toBeGreaterThan(0.85)
    expect(calibration.ece).toBeLessThan(0.1)
    expect(calibration.curve).toHaveLength(50)
    expect(calibration.coefficients[0]).toBeGreaterThan(Math.abs(calibration.coefficients[1] ?? 0))
  })

  test('states the coverage and risk that its threshold has on probabilities out of fold', () => {
    const fitted = fitCalibration(questionSet(500), options)
    const answered = answeredAt(fitted?.outOfFold ?? [], fitted?.calibration.threshold ?? 1)
    expect(fitted?.targetReached).toBe(true)
    expect(fitted?.calibration.coverage_at_target).toBe(answered.length / 500)
    expect(answered.filter(({ sufficient }) => !sufficient).length / answered.length).toBeLessThanOrEqual(0.05)
  })

  test('is the same to the last bit in whatever order the questions come', () => {
    const questions = questionSet(200)
    expect(fitCalibration(questions.toReversed(), options)).toEqual(fitCalibration(questions, options))
  })

  test('does not overfit: groups that the features cannot distinguish stay at chance', () => {
    // Each of ten groups has its own value of the feature and its own label: known by heart, unknowable for a new
    // group.
    const labels = [true, false, false, true, true, false, true, false, false, true]
    const questions = Array.from({ length: 400 }, (_, at) => {
      const group = at % 10
      return {
        id: `q${at}`,
        group: `g${group}`,
        features: labels.map((_label, other) => (other === group ? 1 : 0)),
        sufficient: labels[group] ?? false,
      }
    })
    const names = labels.map((_, at) => `f${at}`)
    const byHeart = fitCalibration(
      questions.map((question) => ({ ...question, group: undefined })),
      { features: names, targetRisk: 0.05 },
    )
    const grouped = fitCalibration(questions, { features: names, targetRisk: 0.05 })
    expect(byHeart?.calibration.auroc).toBe(1)
    expect(grouped?.calibration.auroc).toBeLessThanOrEqual(0.5)
  })

  test('is refused where one kind of question is rare, and where all are of one group', () => {
    const rare = questionSet(400).map((question, at) => ({
      ...question,
      sufficient: at >= CALIBRATION_QUESTIONS_MIN - 1,
    }))
    expect(fitCalibration(rare, options)).toBeUndefined()
    expect(
      fitCalibration(
        questionSet(400).map((question) => ({ ...question, group: 'all' })),
        options,
      ),
    ).toBeUndefined()
  })
})

describe('evidence in a fit', () => {
  test('never lowers the probability, though the questions say so; what describes the question may', () => {
    const contrary = questionSet(200).map((question) => ({ ...question, sufficient: !question.sufficient }))
    const weightOf = (name: string): number =>
      fitCalibration(contrary, { ...options, features: [name, 'noise'] })?.calibration.coefficients[0] ?? Number.NaN
    expect(weightOf('words_best')).toBe(0)
    expect(weightOf('content_share')).toBeLessThan(0)
  })

  test('is what a list must hold to be answered: without it, none counts as a right answer', () => {
    const without = (least: number): readonly CalibrationQuestion[] =>
      questionSet(200).map((question, at) => ({ ...question, isEvident: at >= least }))
    for (const least of [40, 200]) {
      const { calibration, outOfFold = [] } = fitCalibration(without(least), options) ?? {}
      const threshold = calibration?.threshold ?? 0
      expect(threshold).toBeGreaterThan(0)
      const answered = outOfFold.filter(({ score }) => score >= threshold)
      expect(answered.length > 0).toBe(least < 200)
      for (const { id } of answered) expect(Number(id.slice(1))).toBeGreaterThanOrEqual(least)
    }
  })

  test('counts from the floor of a feature', () => {
    const calibration = fitCalibration(questionSet(200), { ...options, floors: [1, null] })?.calibration
    const model = { means: [], scales: [], coefficients: [], intercept: 0, ...calibration }
    const probabilityAt = (top: number): number => modelProbability(model, [top, 0.5])
    expect(model.floors).toEqual([1, null])
    expect(probabilityAt(0)).toBe(probabilityAt(1))
    expect(probabilityAt(2)).toBeGreaterThan(probabilityAt(1))
  })
})

describe('questions with a given probability', () => {
  const given = (count: number, sufficient: boolean, score: number): readonly CalibrationQuestion[] =>
    Array.from({ length: count }, (_, at) => ({
      id: `${sufficient ? 'g' : 'h'}${score}-${at}`,
      // Values that no fitted question has.
      features: [-1_000, 1_000],
      sufficient,
      given: score,
    }))

  test('have no part in the coefficients, and keep their probability', () => {
    const fitted = fitCalibration(questionSet(200), options)
    const both = fitCalibration([...questionSet(200), ...given(30, true, 0.97), ...given(30, false, 0.02)], options)
    const { means, scales, coefficients, intercept } = fitted?.calibration ?? {}
    expect(both?.calibration).toMatchObject({ means, scales, coefficients, intercept, questions: 260, answerable: 150 })
    const scores = new Map(both?.outOfFold.map(({ id, score }) => [id, score]))
    for (const { id, score } of fitted?.outOfFold ?? []) expect(scores.get(id)).toBe(score)
    for (const { id, given: own } of [...given(30, true, 0.97), ...given(30, false, 0.02)])
      expect(scores.get(id)).toBe(own)
  })

  test('count for threshold and figures', () => {
    // Unanswerable questions that another model is sure of.
    const sure = given(60, false, 0.999)
    const fitted = fitCalibration(questionSet(200), options)
    const both = fitCalibration([...questionSet(200), ...sure], options)
    expect(both?.calibration.threshold).toBeGreaterThan(fitted?.calibration.threshold ?? 1)
    expect(both?.calibration.auroc).toBeLessThan(fitted?.calibration.auroc ?? 0)
  })

  test('do not make up for too few others', () => {
    const few = questionSet(200).filter(({ sufficient }, at) => sufficient || at < 40)
    expect(few.filter(({ sufficient }) => !sufficient).length).toBeLessThan(CALIBRATION_QUESTIONS_MIN)
    expect(fitCalibration([...few, ...given(30, false, 0.1)], options)).toBeUndefined()
  })
})
