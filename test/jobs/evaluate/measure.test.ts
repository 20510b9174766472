import { describe, expect, test } from 'vitest'
import { measure } from '#jobs/evaluate/measure.ts'
import type { AskedQuestion } from '#jobs/evaluate/measure.ts'
import { parseQuestions } from '#jobs/evaluate/questions.ts'
import { renderReport } from '#jobs/evaluate/report.ts'

const source = { kind: 'question set', sha256: 'ab'.repeat(32), unknownRelevant: [], defaultThreshold: 0.25 } as const

/** Ten questions, counted by hand: recall (1 + 1 + 1/2 + 1 + 0) / 5 = 0.7; threshold midway between 0.50 and 0.40; three of five answered. */
const asked: readonly AskedQuestion[] = [
  { id: 'a1', relevant: 1, found: 1, topScore: 0.9 },
  { id: 'a2', relevant: 1, found: 1, topScore: 0.8 },
  { id: 'a3', relevant: 2, found: 1, topScore: 0.5 },
  { id: 'a4', relevant: 3, found: 3, topScore: 0.35 },
  { id: 'a5', relevant: 1, found: 0, topScore: 0 },
  { id: 'u1', relevant: 0, found: 0, topScore: 0.4 },
  { id: 'u2', relevant: 0, found: 0, topScore: 0.3 },
  { id: 'u3', relevant: 0, found: 0, topScore: 0.2 },
  { id: 'u4', relevant: 0, found: 0, topScore: 0.1 },
  { id: 'u5', relevant: 0, found: 0, topScore: 0 },
]

describe('an evaluation', () => {
  test('equals the numbers counted by hand on a small set', () => {
    const evaluation = measure(asked, source)
    expect(evaluation.recall_at_5).toBeCloseTo(0.7, 12)
    expect(evaluation.threshold).toBeCloseTo(0.45, 12)
    expect(evaluation).toMatchObject({
      questions: 10,
      answerable: 5,
      unanswerable: 5,
      coverage: 0.6,
      answered_unanswerable_share: 0,
      threshold_fitted: true,
      passed: false,
    })
    expect(evaluation.misses).toEqual(['a3', 'a5'])
    expect(evaluation.wrongly_abstained).toEqual(['a4', 'a5'])
  })

  test('passes at a recall of exactly nine in ten with one in ten unanswerable questions answered', () => {
    const good = Array.from({ length: 10 }, (_, n): AskedQuestion => ({ id: `a${n}`, relevant: 1, found: n === 0 ? 0 : 1, topScore: 0.6 + n / 100 }))
    const none = Array.from({ length: 10 }, (_, n): AskedQuestion => ({ id: `u${n}`, relevant: 0, found: 0, topScore: n === 0 ? 0.655 : 0.1 }))
    const evaluation = measure([...good, ...none], source)
    expect(evaluation).toMatchObject({ recall_at_5: 0.9, answered_unanswerable_share: 0.1, coverage: 1, passed: true })
    expect(measure([...good.map((question, n) => (n === 1 ? { ...question, found: 0 } : question)), ...none], source).passed).toBe(false)
  })

  test('does not pass when the unanswerable questions cannot be kept out', () => {
    const inseparable: readonly AskedQuestion[] = [
      { id: 'a', relevant: 1, found: 1, topScore: 1 },
      { id: 'u', relevant: 0, found: 0, topScore: 1 },
    ]
    expect(measure(inseparable, source)).toMatchObject({ answered_unanswerable_share: 1, passed: false })
  })

  test('takes the default threshold and says so where there is nothing unanswerable to fit on', () => {
    const evaluation = measure(
      asked.filter((question) => question.relevant > 0),
      { kind: 'known items', sha256: null, unknownRelevant: [], defaultThreshold: 0.25 },
    )
    expect(evaluation).toMatchObject({ kind: 'known items', threshold: 0.25, threshold_fitted: false, answered_unanswerable_share: null })
  })
})

describe('a question set', () => {
  test('is refused with the number of the line that does not fit, and without its text', () => {
    const good = '{"id":"q1","text":"What is due?","relevant":["a#1"]}'
    expect(() => parseQuestions(`${good}\n\n{"id":"q2","text":"secret wording"}`)).toThrow(/Line 3 .* relevant/)
    expect(() => parseQuestions(`${good}\n{"id":"q2"`)).toThrow('Line 2 of the question set is not JSON')
    expect(() => parseQuestions(`${good}\n${good}`)).toThrow('Line 2 of the question set repeats')
    expect(() => parseQuestions('{"id":"q1","text":"What is due?","relevant":[]}')).toThrow('no question with a relevant passage')
    expect(() => parseQuestions(`${good}\n{"id":"q2","text":"secret wording"}`)).not.toThrow(/secret/)
  })

  test('counts a section that is named twice once', () => {
    expect(parseQuestions('{"id":"q1","text":"What?","relevant":["a","b","a"]}')[0]?.relevant).toEqual(['a', 'b'])
  })
})

test('the report escapes what question sets bring in', () => {
  const hostile = measure([{ id: '<script>alert("x")</script>', relevant: 1, found: 0, topScore: 0.2 }], source)
  const page = renderReport('0000', hostile, [])
  expect(page).not.toContain('<script')
  expect(page).toContain('&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;')
})
