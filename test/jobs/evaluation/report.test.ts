import { describe, expect, test } from 'vitest'
import { defaultProfile } from '#jobs/version-build/parameters.ts'
import { renderText } from '#operator/command-line/sections.ts'
import { reportSections } from '#jobs/evaluation/page/tables.ts'
import { fitDecision, scoredBy, type Decision } from '#jobs/evaluation/figures.ts'
import type { QueryWithQrels } from '#jobs/evaluation/questions.ts'
import { outcomeOf, type Outcome } from '#jobs/evaluation/outcomes.ts'
import { REPORT_UNKNOWN_RELEVANT_MAX, evaluationReportSchema } from '#jobs/evaluation/page/evaluation-report.ts'
import type { EvaluationReport, Gate } from '#jobs/evaluation/page/evaluation-report.ts'
import { figuresOf, reportOf, RECALL_MIN, gatesOf, type ReportInput } from '#jobs/evaluation/report.ts'
import { decidingByCoverage, measured, queryWithQrels, replyWith } from '#test/support/evaluation.ts'
import { ordering } from '#test/support/reader-endpoint.ts'
import { publishedFigures } from './published-figures.ts'
import type { ByMode } from '#jobs/evaluation/ask.ts'
import { FILTERED_RECALL_MIN, SELECTIVITIES, type FilteredRecall } from '#jobs/evaluation/filtered-questions.ts'
import { INSUFFICIENT_ANSWERED_MAX } from '#jobs/evaluation/calibration/fit.ts'
import { decisionFigures } from '#jobs/evaluation/metrics/abstention.ts'
import { byMetric, type SystemFigures } from '#jobs/evaluation/metrics/ranking.ts'

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
const given = decidingByCoverage(0.555, 0.1)
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

const tableOf = (report: EvaluationReport): string => renderText(reportSections(report))

describe('what --json writes', () => {
  test('holds the published names and nothing else', () => {
    const ofReport = publishedFigures.omit({ about: true, per_question: true })
    const figures = ofReport.parse(JSON.parse(JSON.stringify(figuresOf(reportOf(input({ decision: fitted() }))))))
    expect(figures).toMatchObject({
      dataset: 'rules',
      passages: 1_234,
      queries: 70,
      filtered_recall: { 0.01: 0.98 },
      latency_ms: { p50: 3, p99: 4 },
    })
  })

  test('says nothing of abstention without labels to take it from', () => {
    const report = reportOf(input({ decision: { ...GIVEN, scored: [] } }))
    expect(figuresOf(report)).toMatchObject({ abstention: null })
    expect(tableOf(report)).toContain('Not measured: ')
  })
})

describe('a report', () => {
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

  test('says how words and vectors are fused, and which model re-ranks', () => {
    expect(reportOf(input()).ranking).toEqual({ dense_weight: 0.3, reranker: null })
    const profile = { ...defaultProfile({ embedding: 'none' }), ...ordering('m', 10) }
    expect(reportOf(input({ profile })).ranking?.reranker).toBe('m')
  })

  test('of a version holds its gates, and passes only when each but those of changes does', () => {
    const failing = reportOf(input())
    expect(failing.gates.filter(({ passed }) => !passed).map(({ group }) => group)).toEqual(['ranking', 'decision'])
    expect(failing.passed).toBe(false)
    const asked = {
      questions: QUESTIONS.slice(1, 4),
      outcomes: { ...input().outcomes, hybrid: OUTCOMES.slice(1, 4) },
      decision: { ...GIVEN, scored: [] },
    }
    const changed = {
      group: 'changes',
      label: 'passages_changed',
      value: 1,
      direction: 'at_most',
      bound: 0,
      passed: false,
    } as const
    const { passed, gates } = reportOf(input({ ...asked, changeGates: [changed] }))
    expect(passed, 'every approval accepts changes by name').toBe(true)
    expect(gates).toContainEqual(expect.objectContaining({ group: 'ranking', value: 1 }))
    expect(gates).toContainEqual(changed)
  })

  test('of a version that is thrown away has no gates to pass', () => {
    expect(reportOf(input({ versionId: null, kind: 'data set' }))).toMatchObject({
      gates: [],
      passed: true,
      version_id: null,
    })
  })

  test('counts more records that are not held than it lists, beside the misses', () => {
    const missing = Array.from({ length: REPORT_UNKNOWN_RELEVANT_MAX + 1 }, (_, at) => `m${at}`)
    const { misses, unknown_relevant, unknown_relevant_total } = reportOf(input({ missing }))
    expect(misses[0]).toMatchObject({ id: 'a36', passages: [{ label: 'another', relevant: false }] })
    expect([unknown_relevant.length, unknown_relevant_total]).toEqual([
      REPORT_UNKNOWN_RELEVANT_MAX,
      REPORT_UNKNOWN_RELEVANT_MAX + 1,
    ])
  })
})

test.each([
  ['the question set', fitted(), { source: 'question set', questions: 70 }, 'come from 70 labelled questions'],
  ['nothing', GIVEN, { source: 'default' }, 'The default decision applies. '],
] as const)('the report and its table name what the decision was calibrated on: %s', (_, decision, on, words) => {
  const report = reportOf(input({ decision }))
  expect(report.calibrated_on).toEqual(on)
  expect(tableOf(report)).toContain(words)
  expect(evaluationReportSchema.parse(JSON.parse(JSON.stringify(report)))).toEqual(report)
})

test('the table shows the systems side by side, each mean with its interval', () => {
  const lines = tableOf(reportOf(input())).split('\n')
  expect(lines.find((line) => line.startsWith('  recall@10  '))).toMatch(
    /^  recall@10 +(?:0\.750 0\.\d{3} – 0\.\d{3} *){3}$/,
  )
  expect(lines.find((line) => line.startsWith('  0.01 % '))).toMatch(/ 0\.980 +0\.980$/)
})

test('the table states what was asked under filters, and which shares keep fewer than ten passages', () => {
  const table = tableOf(reportOf(input()))
  expect(table).toContain('Asked: 70 questions and the vectors of 130 passages')
  expect(table.match(/[\d.]+ % fewer than 10 passages/g)).toHaveLength(2)
  const large = tableOf(reportOf(input({ filtered: { ...FILTERED, fewRows: [] } })))
  expect(large).not.toMatch(/fewer than 10/)
})

const figures = (recallAt5: number): SystemFigures => ({
  ...byMetric(() => 1),
  'recall@5': recallAt5,
  ci: byMetric(() => [0, 1] as const),
})
const hybrid = (recallAt5: number): ByMode<SystemFigures> => ({
  lexical: figures(0),
  dense: figures(0),
  hybrid: figures(recallAt5),
})
const WHOLE = Object.fromEntries(SELECTIVITIES.map((name) => [name, 1]))
const recallWith = (change: Partial<FilteredRecall> = {}): FilteredRecall => ({
  random: WHOLE,
  near: WHOLE,
  far: WHOLE,
  ...change,
})

const SCORED_BY = { signal: 's', threshold: 0.5, target_risk: 0.05, folds: 5 }
/** Of ten questions without evidence so many reach the threshold. */
function decisionOf(answered: number): ReturnType<typeof decisionFigures> {
  const without = Array.from({ length: 10 }, (_, at) => ({ sufficient: false, score: at < answered ? 0.9 : 0.1 }))
  return decisionFigures([{ sufficient: true, score: 0.9 }, ...without], SCORED_BY)
}
const failing = (gates: readonly Gate[]): readonly string[] =>
  gates.filter(({ passed }) => !passed).map(({ label }) => label)

describe('a candidate', () => {
  test('that reaches every bound exactly passes', () => {
    const least = { ...WHOLE, 0.01: FILTERED_RECALL_MIN }
    const gates = gatesOf(hybrid(RECALL_MIN), decisionOf(10 * INSUFFICIENT_ANSWERED_MAX), recallWith({ far: least }))
    expect(failing(gates)).toEqual([])
    expect(gates.map(({ group }) => group)).toEqual([
      'ranking',
      'decision',
      ...SELECTIVITIES.map(() => 'filtered recall'),
    ])
  })

  test('fails on ranking, decision and filtered recall each by itself', () => {
    expect(failing(gatesOf(hybrid(RECALL_MIN - 0.001), decisionOf(0), recallWith()))).toEqual(['recall@5, hybrid'])
    expect(failing(gatesOf(hybrid(1), decisionOf(2), recallWith()))).toEqual(['unanswerable questions answered'])
    expect(failing(gatesOf(hybrid(1), decisionOf(0), recallWith({ near: { ...WHOLE, 10: 0.979 } })))).toEqual([
      'recall@10 against exact, filter keeps 10 %',
    ])
  })

  test.each(['random', 'near', 'far'] as const)(
    'fails at every selectivity at which %s filters lose passages',
    (kind) => {
      const lost = Object.fromEntries(SELECTIVITIES.map((name) => [name, 0.5]))
      expect(failing(gatesOf(hybrid(1), decisionOf(0), recallWith({ [kind]: lost })))).toHaveLength(
        SELECTIVITIES.length,
      )
    },
  )

  test('whose filtered recall was not measured at a selectivity fails there', () => {
    const { 1: _, ...unmeasured } = WHOLE
    expect(failing(gatesOf(hybrid(1), decisionOf(0), recallWith({ near: unmeasured })))).toEqual([
      'recall@10 against exact, filter keeps 1 %',
    ])
  })

  test('without vectors is judged by the words and the decision alone', () => {
    const gates = gatesOf({ lexical: figures(RECALL_MIN - 0.001) }, decisionOf(0), undefined)
    expect(gates.map(({ group }) => group)).toEqual(['ranking', 'decision'])
    expect(failing(gates)).toEqual(['recall@5, lexical'])
  })

  test('without unanswerable questions has no decision to judge', () => {
    const answerable = decisionFigures([{ sufficient: true, score: 0.9 }], SCORED_BY)
    for (const figured of [undefined, answerable])
      expect(gatesOf(hybrid(1), figured, recallWith()).map(({ group }) => group)).not.toContain('decision')
  })
})
