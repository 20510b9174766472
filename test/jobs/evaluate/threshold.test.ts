import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fitThreshold, isAnswered } from '#jobs/evaluate/threshold.ts'

describe('the fitted threshold', () => {
  test('lies midway between the lowest answerable score and the unanswerable score below it where the two are apart', () => {
    expect(fitThreshold([0.9, 0.8, 0.7], [0.5, 0.3])).toBeCloseTo(0.6, 12)
  })

  test('gives up the answerable questions that cannot be told from unanswerable ones', () => {
    // Of three unanswerable questions none may be answered, so the answerable one at 0.4 is lost.
    const threshold = fitThreshold([0.9, 0.8, 0.4], [0.6, 0.5, 0.1])
    expect(threshold).toBeCloseTo(0.7, 12)
  })

  test('lets one in ten unanswerable questions through where that answers more', () => {
    const unanswerable = [0.75, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2]
    expect(fitThreshold([0.9, 0.7], unanswerable)).toBeCloseTo(0.45, 12)
    expect(fitThreshold([0.9, 0.7], unanswerable.slice(0, 9))).toBeCloseTo(0.825, 12)
  })

  test('answers nothing below a certain score when every answerable score lies under the unanswerable ones', () => {
    const threshold = fitThreshold([0.1, 0.2], [0.9, 0.8])
    expect(threshold).toBeCloseTo(0.95, 12)
  })

  test('is above every score when an unanswerable question reaches a score of one', () => {
    expect(fitThreshold([1, 0.5], [1])).toBe(1)
  })

  test('is the best there is: no other cut answers more answerable questions within the same allowance', () => {
    const scores = fc.array(
      fc.integer({ min: 0, max: 20 }).map((n) => n / 20),
      { minLength: 1, maxLength: 40 },
    )
    fc.assert(
      fc.property(scores, scores, (answerable, unanswerable) => {
        const allowed = Math.floor(unanswerable.length * 0.1)
        const answered = (list: readonly number[], threshold: number): number => list.filter((score) => isAnswered(score, threshold)).length
        const fitted = fitThreshold(answerable, unanswerable)
        const cuts = Array.from({ length: 20 }, (_, n) => (n + 0.5) / 20).filter((cut) => answered(unanswerable, cut) <= allowed)
        const best = Math.max(0, ...cuts.map((cut) => answered(answerable, cut)))
        expect(fitted).toBeGreaterThanOrEqual(0)
        expect(fitted).toBeLessThanOrEqual(1)
        if (cuts.length === 0) return
        expect(answered(unanswerable, fitted)).toBeLessThanOrEqual(allowed)
        expect(answered(answerable, fitted)).toBe(best)
      }),
    )
  })

  test('does not depend on the order of the questions', () => {
    const answerable = [0.31, 0.92, 0.55, 0.7, 0.44]
    const unanswerable = [0.4, 0.6, 0.2, 0.1]
    expect(fitThreshold(answerable.toReversed(), unanswerable.toReversed())).toBe(fitThreshold(answerable, unanswerable))
  })
})
