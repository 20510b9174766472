import { expect, test } from 'vitest'
import { abstentionOf } from '#jobs/evaluate/command/figures.ts'
import type { Outcome } from '#jobs/evaluate/command/outcomes.ts'
import { figuresOf, reportOf } from '#jobs/evaluate/command/report.ts'
import type { ReportInput } from '#jobs/evaluate/command/report.ts'
import { renderTable } from '#jobs/evaluate/command/table.ts'
import type { TaskQuestion } from '#jobs/evaluate/command/task.ts'
import { rankingFigures } from '#jobs/evaluate/metrics/ranking.ts'
import { publishedFigures } from './published-figures.ts'

function question(id: string, answerable: boolean | undefined): TaskQuestion {
  const judgments = new Map(answerable === false ? [] : [[`${id}-answer`, 1]])
  return { id, text: `${id}?`, judgments, answerable, limitedTo: undefined, asOf: undefined }
}

function outcome({ id, judgments }: TaskQuestion, score: number, right: boolean, evidence: readonly number[] = []): Outcome {
  const record = right ? `${id}-answer` : 'another'
  return { figures: rankingFigures([record], judgments), top: [{ record, score }], evidence }
}

const LATENCY = { p50: 1, p99: 2 }
const RECALL = { 100: 1, 50: 1, 10: 1, 1: 1, 0.1: 1, 0.01: 1 }

/** 40 answerable questions of which every fourth is missed, 30 unanswerable ones with lower scores. */
function input(evidence: readonly number[] = []): ReportInput {
  const questions = [...Array.from({ length: 40 }, (_, at) => question(`a${at}`, true)), ...Array.from({ length: 30 }, (_, at) => question(`u${at}`, false))]
  const asked = questions.map((each, at) =>
    outcome(each, at < 40 ? 0.5 + at / 100 : 0.3 + at / 250, at % 4 !== 0, evidence.length === 0 ? [] : [at < 40 ? 2 : 1, ...evidence.slice(1)]),
  )
  return {
    dataset: 'rules',
    questionSet: 'a'.repeat(64),
    passages: 1_234,
    questions,
    outcomes: { lexical: asked, dense: asked.map((each) => ({ ...each, top: [] })), hybrid: asked },
    abstention: abstentionOf(questions, asked, 0.05),
    latency: { lexical: LATENCY, dense: LATENCY, hybrid: LATENCY },
    filteredRecall: { random: { ...RECALL, 0.01: 0.99 }, near: RECALL, far: { ...RECALL, 0.01: 0.98 } },
    missing: ['m1'],
  }
}

test('the JSON holds the published names and nothing else', () => {
  const figures = publishedFigures.parse(JSON.parse(JSON.stringify(figuresOf(reportOf(input())))))
  expect(figures).toMatchObject({ dataset: 'rules', passages: 1_234, queries: 70, filtered_recall: { 0.01: 0.98 }, latency_ms: LATENCY })
})

test('unanswerable questions are no part of the ranking means', () => {
  const { systems, answerable, unanswerable } = reportOf(input())
  expect([answerable, unanswerable]).toEqual([40, 30])
  expect(systems.hybrid?.['recall@10']).toBe(0.75)
})

test('the decision is fitted on what the node says of a list, else on the score of its first record', () => {
  expect(abstentionOf(input().questions, input().outcomes.hybrid, 0.05)).toMatchObject({
    signal: 'top_score',
    fitted: { calibration: { features: ['top_score'] } },
  })
  const { abstention } = reportOf(input([2, 5]))
  expect(abstention).toMatchObject({ signal: 'evidence_probability', auroc: 1, folds: 5, coverage_at_target: expect.closeTo(4 / 7, 1) })
})

test('a list that a node says nothing of counts like one without any evidence', () => {
  const { questions, outcomes } = input([2, 5])
  const silent = outcomes.hybrid.map((each, at) => (at === 69 ? { ...each, evidence: [] } : each))
  expect(abstentionOf(questions, silent, 0.05)?.fitted.calibration.auroc).toBe(1)
})

test('without labels there is nothing to say of abstention', () => {
  const unlabelled = input()
    .questions.slice(0, 40)
    .map((each) => ({ ...each, answerable: undefined }))
  expect(abstentionOf(unlabelled, input().outcomes.hybrid, 0.05)).toBeUndefined()
  const report = reportOf({ ...input(), abstention: undefined })
  expect(figuresOf(report)).toMatchObject({ abstention: null })
  expect(renderTable(report, 3, 40)).toContain('abstention: not measured')
})

test('the report lists the surest misses first and the records that are not held', () => {
  const { misses, misses_total, unknown_relevant, unknown_relevant_total } = reportOf({ ...input(), abstention: undefined })
  expect(misses_total).toBe(10)
  expect(misses.slice(0, 2)).toMatchObject([
    { problem: 'not_found', id: 'a36', text: 'a36?', observed_value: 0.86, relevant: ['a36-answer'], passages: [{ label: 'another', relevant: false }] },
    { id: 'a32' },
  ])
  expect([unknown_relevant, unknown_relevant_total]).toEqual([['m1'], 1])
})

test('unanswerable questions that would be answered, and found ones that would not, are misses too', () => {
  const given = input()
  const { misses } = reportOf(given)
  const { calibration, outOfFold } = given.abstention?.fitted ?? { calibration: { threshold: 0 }, outOfFold: [] }
  const wrong = outOfFold.filter(({ id, sufficient, score }) => {
    const answered = score >= calibration.threshold
    const found = Number(id.slice(1)) % 4 !== 0
    return sufficient ? found && !answered : answered
  })
  const listed = misses.filter(({ problem }) => problem !== 'not_found')
  expect(wrong.length).toBeGreaterThan(0)
  expect(new Set(listed.map(({ id }) => id))).toEqual(new Set(wrong.map(({ id }) => id)))
  for (const { problem, id } of listed) expect(problem).toBe(id.startsWith('u') ? 'answered_without_evidence' : 'abstained_with_evidence')
})

test('the table shows the systems side by side, each mean with its interval', () => {
  const lines = renderTable(reportOf(input()), 3, 40).split('\n')
  expect(lines[0]).toBe('rules: 1234 passages of 3 documents; 70 questions asked, 40 of them judged for ranking')
  expect(lines.find((line) => line.startsWith('recall@10 '))).toMatch(/^recall@10 +(?:0\.7500 \[0\.\d{3}, 0\.\d{3}\] *){3}$/)
  expect(lines.join('\n')).toMatch(/ {2}far +100 %: 1\.0000 .* 0\.01 %: 0\.9800/)
})
