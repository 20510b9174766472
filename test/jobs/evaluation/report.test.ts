import { describe, expect, test } from 'vitest'
import { DEFAULT_CALIBRATION } from '#core/domain/default-calibration.ts'
import type { Calibration } from '#core/domain/calibration.ts'
import { defaultProfile } from '#jobs/version-build/parameters.ts'
import { renderText } from '#operator/command-line/sections.ts'
import { dataSetSections } from '#operator/evaluate/table.ts'
import { fitDecision, scoredBy } from '#jobs/evaluation/figures.ts'
import type { Decision } from '#jobs/evaluation/figures.ts'
import type { QueryWithQrels } from '#jobs/evaluation/questions.ts'
import { outcomeOf } from '#jobs/evaluation/outcomes.ts'
import type { Outcome } from '#jobs/evaluation/outcomes.ts'
import { REPORT_UNKNOWN_RELEVANT_MAX, evaluationReportSchema } from '#jobs/evaluation/page/evaluation-report.ts'
import { figuresOf, reportOf } from '#jobs/evaluation/report.ts'
import type { ReportInput } from '#jobs/evaluation/report.ts'
import type { EvaluationReport } from '#jobs/evaluation/page/evaluation-report.ts'
import { measured, queryWithQrels, replyWith } from '#test/support/evaluation.ts'
import { ordering } from '#test/support/reader-endpoint.ts'
import { publishedFigures } from './published-figures.ts'

const LATENCY = { p50: 1, p99: 2 }
const RECALL = { 100: 1, 50: 1, 10: 1, 1: 1, 0.1: 1, 0.01: 1 }
const VERSION_ID = '0198c0de-0000-7000-8000-000000000001'

/**
 * 40 answerable questions of which every fourth is missed, 30 unanswerable ones whose lists say less of the question.
 */
const QUESTIONS: readonly QueryWithQrels[] = [
  ...Array.from({ length: 40 }, (_, at) => queryWithQrels(`a${at}`, { answerable: true })),
  ...Array.from({ length: 30 }, (_, at) => queryWithQrels(`u${at}`, { answerable: false, qrels: new Map() })),
]
const OUTCOMES: readonly Outcome[] = QUESTIONS.map((question, at) => {
  const coverage = at < 40 ? 0.5 + at / 100 : 0.3 + at / 250
  return outcomeOf(
    question,
    replyWith([at % 4 === 0 ? 'another' : `${question.id}-answer`], measured({ first_coverage: coverage })),
  )
})

function fitted(): Decision {
  const fit = fitDecision(QUESTIONS, OUTCOMES, { targetRisk: 0.05, embedding: 'none' })
  if (fit === undefined) throw new Error('nothing was fitted')
  return { calibration: fit.calibration, scored: fit.outOfFold, isFitted: true }
}

/** The logistic of ten times what the first passage's coverage exceeds 0.555 by: it answers from there on. */
const given: Calibration = {
  ...DEFAULT_CALIBRATION,
  features: ['first_coverage'],
  means: [0.555],
  scales: [0.1],
  coefficients: [1],
  intercept: 0,
  threshold: 0.5,
}
const GIVEN: Decision = { calibration: given, scored: scoredBy(given, QUESTIONS, OUTCOMES), isFitted: false }

const FILTERED = {
  recall: { random: { ...RECALL, 0.01: 0.99 }, near: RECALL, far: { ...RECALL, 0.01: 0.98 } },
  questions: 70,
  sampledRows: 130,
  fewRows: ['0.1', '0.01'],
}

function input(change: Partial<ReportInput> = {}): ReportInput {
  return {
    kind: 'question set',
    dataset: 'rules',
    versionId: VERSION_ID,
    questionSet: 'a'.repeat(64),
    passages: 1_234,
    questions: QUESTIONS,
    outcomes: { lexical: OUTCOMES, dense: OUTCOMES.map((each) => ({ ...each, top: [] })), hybrid: OUTCOMES },
    profile: { ...defaultProfile({ embedding: 'none' }), dense_weight: 0.3 },
    decision: GIVEN,
    latency: { lexical: LATENCY, dense: LATENCY, hybrid: { p50: 3, p99: 4 } },
    filtered: FILTERED,
    comparison: null,
    changeGates: [],
    missing: ['m1'],
    ...change,
  }
}

const tableOf = (report: EvaluationReport): string => renderText(dataSetSections(report, 3, 40))

describe('what --json writes', () => {
  test('holds the published names and nothing else', () => {
    const figures = publishedFigures.parse(
      JSON.parse(JSON.stringify(figuresOf(reportOf(input({ decision: fitted() }))))),
    )
    expect(figures).toMatchObject({
      dataset: 'rules',
      passages: 1_234,
      queries: 70,
      filtered_recall: { 0.01: 0.98 },
      latency_ms: { p50: 3, p99: 4 },
    })
  })

  test('names in the table what the decision was calibrated on', () => {
    expect(tableOf(reportOf(input({ decision: fitted() })))).toContain(
      'calibrated on 70 labelled questions of the question set\n',
    )
    expect(tableOf(reportOf(input()))).toContain('calibrated on no labelled questions: the default applies\n')
  })

  test('says nothing of abstention without labels to take it from', () => {
    const report = reportOf(input({ decision: { ...GIVEN, scored: [] } }))
    expect(figuresOf(report)).toMatchObject({ abstention: null })
    expect(tableOf(report)).toContain('abstention: not measured')
  })
})

describe('a report', () => {
  test('states what was asked under filters, and where fewer than ten passages were allowed', () => {
    const { filtered_recall_sample } = reportOf(input())
    expect(filtered_recall_sample).toEqual({
      questions: 70,
      sampled_rows: 130,
      fewer_than_10_passages: ['0.1', '0.01'],
    })
  })

  test('has the same gates where fewer than ten passages were allowed', () => {
    expect(reportOf(input({ filtered: { ...FILTERED, fewRows: [] } })).gates).toEqual(reportOf(input()).gates)
  })

  test('comes back from JSON as it was stored', () => {
    const report = reportOf(input({ decision: fitted() }))
    expect(evaluationReportSchema.parse(JSON.parse(JSON.stringify(report)))).toEqual(report)
  })

  test('leaves unanswerable questions out of the ranking means', () => {
    const { systems, answerable, unanswerable } = reportOf(input())
    expect([answerable, unanswerable]).toEqual([40, 30])
    expect(systems.hybrid?.['recall@10']).toBe(0.75)
  })

  test('gives the decision’s figures under the profile’s own threshold and folds', () => {
    const decision = fitted()
    const { abstention } = reportOf(input({ decision }))
    expect(abstention).toMatchObject({
      signal: 'evidence_probability',
      folds: 5,
      threshold: decision.calibration.threshold,
      target_risk: 0.05,
    })
    expect(abstention?.auroc).toBeCloseTo(decision.calibration.auroc ?? -1, 12)
    // Coverage exceeds 0.555 for 34 of the answerable questions and for the last 6 of the unanswerable.
    expect(reportOf(input()).abstention).toMatchObject({
      folds: 0,
      threshold: 0.5,
      answered_sufficient: 34 / 40,
      answered_insufficient: 6 / 30,
    })
  })

  test('says what the decision was calibrated on: the question set, or nothing', () => {
    const { calibrated_on: fittedOn } = reportOf(input({ decision: fitted() }))
    expect(fittedOn).toEqual({ source: 'question set', questions: 70 })
    expect(reportOf(input()).calibrated_on).toEqual({ source: 'default' })
  })

  test('says how words and vectors are fused, and which model re-ranks', () => {
    expect(reportOf(input()).ranking).toEqual({ dense_weight: 0.3, reranker: null })
    const profile = { ...defaultProfile({ embedding: 'none' }), ...ordering('m', 10) }
    expect(reportOf(input({ profile })).ranking?.reranker).toBe('m')
  })

  test('of a version holds its gates, and passes only when each does', () => {
    const failing = reportOf(input())
    expect(failing.gates.filter(({ passed }) => !passed).map(({ group }) => group)).toEqual(['ranking', 'decision'])
    expect(failing.passed).toBe(false)
    const asked = {
      questions: QUESTIONS.slice(1, 4),
      outcomes: { ...input().outcomes, hybrid: OUTCOMES.slice(1, 4) },
      decision: { ...GIVEN, scored: [] },
    }
    expect(reportOf(input(asked))).toMatchObject({
      passed: true,
      gates: expect.arrayContaining([expect.objectContaining({ group: 'ranking', value: 1 })]),
    })
  })

  test('of a version that changes more than its limits passes: every approval accepts changes by name', () => {
    const changeGates = [
      { group: 'changes', label: 'passages_changed', value: 1, direction: 'at_most', bound: 0, passed: false },
    ] as const
    const asked = {
      questions: QUESTIONS.slice(1, 4),
      outcomes: { ...input().outcomes, hybrid: OUTCOMES.slice(1, 4) },
      decision: { ...GIVEN, scored: [] },
    }
    const report = reportOf(input({ ...asked, changeGates }))
    expect(report.passed).toBe(true)
    expect(report.gates).toContainEqual(changeGates[0])
    expect(reportOf(input({ changeGates })).passed).toBe(false)
  })

  test('of a version that is thrown away has no gates to pass', () => {
    expect(reportOf(input({ versionId: null, kind: 'data set' }))).toMatchObject({
      gates: [],
      passed: true,
      version_id: null,
    })
  })

  test('lists the surest misses first and the records that are not held', () => {
    const { misses, unknown_relevant, unknown_relevant_total } = reportOf(input())
    expect(misses.filter(({ problem }) => problem === 'not_found').map(({ id }) => id)).toEqual(
      Array.from({ length: 10 }, (_, at) => `a${36 - 4 * at}`),
    )
    expect(misses[0]).toMatchObject({
      text: 'a36?',
      relevant: ['a36-answer'],
      passages: [{ label: 'another', relevant: false }],
    })
    expect([unknown_relevant, unknown_relevant_total]).toEqual([['m1'], 1])
  })

  test('counts more records that are not held than it lists', () => {
    const missing = Array.from({ length: REPORT_UNKNOWN_RELEVANT_MAX + 1 }, (_, at) => `m${at}`)
    const { unknown_relevant, unknown_relevant_total } = reportOf(input({ missing }))
    expect([unknown_relevant.length, unknown_relevant_total]).toEqual([
      REPORT_UNKNOWN_RELEVANT_MAX,
      REPORT_UNKNOWN_RELEVANT_MAX + 1,
    ])
  })

  test('lists unanswerable questions that would be answered, and found ones that would not, as misses too', () => {
    const { misses } = reportOf(input())
    const wrong = GIVEN.scored.filter(({ id, sufficient, score }) =>
      sufficient ? Number(id.slice(1)) % 4 !== 0 && score < 0.5 : score >= 0.5,
    )
    const listed = misses.filter(({ problem }) => problem !== 'not_found')
    expect(wrong.length).toBeGreaterThan(0)
    expect(new Set(listed.map(({ id }) => id))).toEqual(new Set(wrong.map(({ id }) => id)))
    for (const { problem, id } of listed)
      expect(problem).toBe(id.startsWith('u') ? 'answered_without_evidence' : 'abstained_with_evidence')
  })
})

test('the table shows the systems side by side, each mean with its interval', () => {
  const lines = tableOf(reportOf(input())).split('\n')
  expect(lines[0]).toBe('rules: 1234 passages of 3 documents; 70 questions asked, 40 of them judged for ranking')
  expect(lines.find((line) => line.startsWith('  recall@10 '))).toMatch(
    /^  recall@10 +(?:0\.7500 \[0\.\d{3}, 0\.\d{3}\] *){3}$/,
  )
  expect(lines.join('\n')).toMatch(/ 0\.01 %\n(?:.*\n)*? {2}far +1\.0000 .* 0\.9800\n/)
})

test('the table states what was asked under filters, and which shares keep fewer than ten passages', () => {
  const table = tableOf(reportOf(input()))
  expect(table).toContain(
    '  asked: 70 questions and the vectors of 130 passages\n  fewer than 10 passages: 0.1 %, 0.01 %',
  )
  const large = tableOf(reportOf(input({ filtered: { ...FILTERED, fewRows: [] } })))
  expect(large).not.toMatch(/fewer than 10/)
})
