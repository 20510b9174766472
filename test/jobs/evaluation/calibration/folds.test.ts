import { describe, expect, test } from 'vitest'
import { assignFolds, outOfFoldProbabilities } from '#jobs/evaluation/calibration/folds.ts'
import { fitLogisticRegression, predict } from '#jobs/evaluation/calibration/logistic-regression.ts'

const keys = Array.from({ length: 103 }, (_, at) => `q${at}`)

describe('folds', () => {
  test('differ in size by one question at most', () => {
    const sizes = [0, 1, 2, 3, 4].map((fold) => assignFolds(keys, 5).filter((own) => own === fold).length)
    expect(sizes.toSorted((a, b) => a - b)).toEqual([20, 20, 21, 21, 21])
  })

  test('do not depend on the order of the questions and keep equal keys together', () => {
    const folds = assignFolds(keys, 5)
    expect(assignFolds(keys.toReversed(), 5).toReversed()).toEqual(folds)
    expect(assignFolds([...keys, ...keys], 5)).toEqual([...folds, ...folds])
  })

  test('are as many as there are groups where these are fewer', () => {
    expect(new Set(assignFolds(['a', 'b', 'b', 'a', 'c'], 5)).size).toBe(3)
  })
})

test('a probability out of fold comes from a model that never saw the fold', () => {
  const samples = Array.from({ length: 30 }, (_, at) => ({ features: [(at * 7) % 10], sufficient: (at * 5) % 9 > 3 }))
  const folds = samples.map((_, at) => at % 3)
  const probabilities = outOfFoldProbabilities(samples, folds, 1)
  for (const fold of [0, 1, 2]) {
    const model = fitLogisticRegression(
      samples.filter((_, at) => folds[at] !== fold),
      1,
    )
    expect(probabilities.filter((_, at) => folds[at] === fold)).toEqual(
      predict(
        model,
        samples.filter((_, at) => folds[at] === fold),
      ),
    )
  }
  const changed = samples.map((sample, at) => (at === 0 ? { ...sample, sufficient: !sample.sufficient } : sample))
  expect(outOfFoldProbabilities(changed, folds, 1)[0]).toBe(probabilities[0])
})
