import { expect, test } from 'vitest'
import { evaluationInWords } from '#operator/commands/review.ts'
import { CHANGED_REPORT } from '#test/jobs/evaluation/page/evaluation-report.ts'

test('a review is shown with its verdict and each bar, without the figures behind them', () => {
  const shown = evaluationInWords(CHANGED_REPORT)
  expect(shown).toMatchObject({ verdict: expect.stringMatching(/every approval must accept .* by name/) })
  const bars = CHANGED_REPORT.gates.filter(({ group }) => group !== 'changes')
  expect(Object.keys(shown as object)).toEqual(['verdict', ...bars.map(({ label }) => label)])
})
