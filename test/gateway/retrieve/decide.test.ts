import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Calibration } from '#core/domain/calibration.ts'
import { DEFAULT_CALIBRATION } from '#core/domain/default-calibration.ts'
import { PREDICTORS } from '#core/domain/predictors.ts'
import type { UnsupportedReference } from '#core/domain/search.ts'
import { decide } from '#gateway/retrieve/decide.ts'
import type { Evidence } from '#gateway/retrieve/search.ts'
import { measured } from '#test/support/evaluation.ts'
import { foundPassage, pinnedRequest } from './pinned.ts'

/** 4 × (first_coverage − 0.5): a half at a coverage of a half. */
const calibration: Calibration = {
  ...DEFAULT_CALIBRATION,
  features: ['first_coverage'],
  means: [0.5],
  scales: [0.5],
  coefficients: [2],
  intercept: 0,
  named: null,
}
const pinnedAt = (threshold: number): ReturnType<typeof pinnedRequest> =>
  pinnedRequest({ parameters: { calibration: { ...calibration, threshold } } })

function evidence(change: Partial<Evidence> = {}): Evidence {
  return {
    passages: [foundPassage(0)],
    allowed: 1,
    predictors: measured({ first_coverage: 0.5 }),
    unsupported: [],
    ...change,
  }
}

const named: UnsupportedReference = { text: 'Art. 99 GDPR', normalized: 'celex:32016R0679#99', reason: 'not_in_corpus' }
const unit = fc.double({ min: 0, max: 1, noNaN: true })

describe('the decision', () => {
  test('answers iff a passage remains, no reference is unsupported, and the probability reaches the threshold', () => {
    fc.assert(
      fc.property(unit, unit, fc.nat({ max: 3 }), fc.boolean(), (threshold, coverage, passages, lacking) => {
        const given = evidence({
          passages: Array.from({ length: passages }, (_, row) => foundPassage(row)),
          predictors: measured({ first_coverage: coverage }),
          unsupported: lacking ? [named] : [],
        })
        const { decision, observed_value: observed, threshold: told, signal } = decide(pinnedAt(threshold), given)
        const expected = passages === 0 ? 0 : 1 / (1 + Math.exp(-4 * (coverage - 0.5)))
        expect([told, signal]).toEqual([threshold, 'evidence_probability'])
        expect(observed).toBeCloseTo(expected, 12)
        expect(decision).toBe(passages > 0 && !lacking && observed >= threshold ? 'answer' : 'abstain')
      }),
    )
  })

  test('abstains on an unsupported reference however sure it is, and reports the reference and the sure value', () => {
    const decided = decide(
      pinnedAt(0.1),
      evidence({ predictors: measured({ first_coverage: 1 }), unsupported: [named] }),
    )
    expect(decided).toMatchObject({ decision: 'abstain', observed_value: expect.closeTo(1 / (1 + Math.exp(-2)), 12) })
    expect(decided.unsupported_explicit_references).toEqual([named])
  })
})

describe('what a node measured', () => {
  test.each([
    ['nothing', []],
    ['a feature too few', measured({}).slice(0, PREDICTORS.indexOf('first_coverage'))],
    ['a number that is none', measured({ first_coverage: Number.NaN })],
    ['an infinite number', measured({ first_coverage: Number.POSITIVE_INFINITY })],
  ])('fails the retrieval when it is %s, with and without passages', (_, features) => {
    for (const passages of [[], [foundPassage(0)]]) {
      expect(() => decide(pinnedAt(0), evidence({ passages, predictors: features }))).toThrow(
        expect.objectContaining({ code: 'RETRIEVAL_UNAVAILABLE' }),
      )
    }
  })
})
