import { expect, test } from 'vitest'
import { verdictOf } from '#jobs/evaluation/page/verdict.ts'
import { BARE_REPORT, CHANGED_REPORT, FULL_REPORT } from './evaluation-report.ts'

test('a version that passes is said to pass, and against what it was compared', () => {
  expect(verdictOf(FULL_REPORT)).toEqual({
    tone: 'good',
    word: 'Passed',
    sentence:
      'It passes all 8 gates and is not worse than the active version on the 300 questions that both were asked.',
  })
  expect(verdictOf({ ...FULL_REPORT, comparison: null }).sentence).toBe(
    'It passes all 8 gates; it was not compared with an active version.',
  )
})

test('a version without gates is not praised for meeting them', () => {
  expect(verdictOf(BARE_REPORT).sentence).toBe('No gate was set for it; it was not compared with an active version.')
})

test('a version that misses a gate cannot be activated, whatever the comparison says', () => {
  const gates = FULL_REPORT.gates.map((gate, at) => (at === 0 ? { ...gate, value: 0.812, passed: false } : gate))
  expect(verdictOf({ ...FULL_REPORT, gates, passed: false })).toEqual({
    tone: 'bad',
    word: 'Not passed',
    sentence: 'It misses 1 of 8 gates: recall@5, hybrid; it cannot be activated.',
  })
  expect(verdictOf({ ...FULL_REPORT, gates, passed: true }).tone).toBe('bad')
  expect(verdictOf({ ...FULL_REPORT, passed: false }).tone).toBe('bad')
})

test('of many missed gates four are named', () => {
  const gates = FULL_REPORT.gates.map((gate) => ({ ...gate, passed: false }))
  expect(verdictOf({ ...FULL_REPORT, gates, passed: false }).sentence).toMatch(
    /^It misses 8 of 8 gates: .*; and 4 more; it cannot be activated\.$/,
  )
})

test('a version that passes but is worse than the active one needs that to be accepted by name', () => {
  const { comparison } = FULL_REPORT
  const worse = comparison === null ? null : { ...comparison, worse: true, worse_on: ['ndcg@10', 'recall@5'] as const }
  expect(verdictOf({ ...FULL_REPORT, comparison: worse })).toMatchObject({
    tone: 'doubtful',
    sentence:
      'It passes all 8 gates, but it is worse than the active version on nDCG@10, recall@5: ' +
      'every approval must accept ranking by name.',
  })
})

test('a version that changes more than its limits is said to need their acceptance by name', () => {
  expect(verdictOf(CHANGED_REPORT)).toEqual({
    tone: 'doubtful',
    word: 'Passed, with changes',
    sentence:
      'It passes all 8 gates, but 13732 → 13732 passages, 0 removed, 1 changed, 1 provision changed: ' +
      'every approval must accept provisions_changed, passages_changed by name.',
  })
})

test('a research collection is measured, not judged', () => {
  expect(verdictOf({ ...BARE_REPORT, kind: 'data set', passed: false })).toMatchObject({
    tone: 'plain',
    sentence: expect.stringMatching(
      /^The hybrid ranking reaches nDCG@10 0\.\d{3}; 600 questions asked of 13\u202f732 passages\.$/,
    ),
  })
})
