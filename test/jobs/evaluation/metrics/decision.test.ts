import { expect, test } from 'vitest'
import { decisionFigures, scoreDistribution } from '#jobs/evaluation/metrics/abstention.ts'

const rule = { signal: 'evidence_probability', threshold: 0.7, target_risk: 0.3, folds: 5 }
const questions = [
  { score: 0.9, sufficient: true },
  { score: 0.8, sufficient: false },
  { score: 0.75, sufficient: true },
  { score: 0.7, sufficient: true },
  { score: 0.4, sufficient: false },
]

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
  expect(figures.distribution.sufficient.reduce((sum, count) => sum + count, 0)).toBe(3)
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

test('observed values are counted in 25 bins, with and without evidence, including both ends of the scale', () => {
  const { sufficient, insufficient } = scoreDistribution([
    { score: 0, sufficient: false },
    { score: 0.039, sufficient: false },
    { score: 0.04, sufficient: false },
    { score: 1, sufficient: true },
    { score: 0.5, sufficient: true },
  ])
  expect(sufficient).toHaveLength(25)
  expect(Object.entries(sufficient).filter(([, count]) => count > 0)).toEqual([
    ['12', 1],
    ['24', 1],
  ])
  expect(insufficient.slice(0, 3)).toEqual([2, 1, 0])
})
