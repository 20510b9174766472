import { describe, expect, test } from 'vitest'
import type { QueryWithQrels } from '#jobs/evaluation/questions.ts'
import { missesOf, type Misses } from '#jobs/evaluation/report.ts'
import { outcomeOf } from '#jobs/evaluation/outcomes.ts'
import { REPORT_MISSES_MAX } from '#jobs/evaluation/page/evaluation-report.ts'
import { decidingByCoverage, measured, queryWithQrels, replyWith } from '#test/support/evaluation.ts'

/** Observes the logistic of ten times the first passage's coverage less a half. */
const calibration = decidingByCoverage(0.5, 0.1)

interface Asked {
  readonly question: QueryWithQrels
  readonly found: boolean
  readonly coverage: number
}

function missed(
  asked: readonly Asked[],
  scored: readonly { readonly id: string; readonly sufficient: boolean; readonly score: number }[] = [],
): Misses {
  const outcomes = asked.map(({ question, found, coverage }) =>
    outcomeOf(
      question,
      replyWith(found ? ['another', `${question.id}-answer`] : ['another'], measured({ first_coverage: coverage })),
    ),
  )
  return missesOf(
    asked.map(({ question }) => question),
    outcomes,
    { calibration, scored },
  )
}

const answerable = (id: string, found: boolean, coverage: number): Asked => ({
  question: queryWithQrels(id, { answerable: true }),
  found,
  coverage,
})
const unanswerable = (id: string, coverage: number): Asked => ({
  question: queryWithQrels(id, { answerable: false, qrels: new Map() }),
  found: false,
  coverage,
})
const named = ({ misses }: Misses): readonly string[] => misses.map(({ problem, id }) => `${problem} ${id}`)

describe('misses', () => {
  test('are evidence not found, answers without evidence and abstentions with evidence; nothing else', () => {
    const misses = missed([
      answerable('right', true, 0.9),
      answerable('lost', false, 0.9),
      answerable('doubted', true, 0.1),
      unanswerable('refused', 0.1),
      unanswerable('invented', 0.9),
    ])
    expect(named(misses)).toEqual([
      'not_found lost',
      'answered_without_evidence invented',
      'abstained_with_evidence doubted',
    ])
    expect(misses.misses_total).toBe(3)
  })

  test('of questions without a label are those that were not found', () => {
    const unlabelled = [
      { question: queryWithQrels('lost'), found: false, coverage: 0.1 },
      { question: queryWithQrels('doubted'), found: true, coverage: 0.1 },
    ]
    expect(named(missed(unlabelled))).toEqual(['not_found lost'])
  })

  test('come worst first: the surest mistakes, and the greatest doubt about what was found', () => {
    const misses = missed([
      unanswerable('b', 0.7),
      unanswerable('c', 0.9),
      unanswerable('a', 0.7),
      answerable('x', true, 0.4),
      answerable('y', true, 0.1),
    ])
    expect(misses.misses.map(({ id }) => id)).toEqual(['c', 'a', 'b', 'y', 'x'])
  })

  test('show what would have answered and what came instead', () => {
    const { misses } = missed([answerable('doubted', true, 0.1)])
    expect(misses).toEqual([
      {
        problem: 'abstained_with_evidence',
        id: 'doubted',
        text: 'doubted?',
        observed_value: expect.closeTo(1 / (1 + Math.exp(4)), 12),
        relevant: ['doubted-answer'],
        passages: [
          { label: 'another', score: 1, relevant: false },
          { label: 'doubted-answer', score: 0.5, relevant: true },
        ],
      },
    ])
  })

  test('are judged by what cross-validation observed, where the decision was fitted on the questions', () => {
    const scored = [{ id: 'u', sufficient: false, score: 0.75 }]
    expect(missed([unanswerable('u', 0.1)], scored).misses).toMatchObject([
      { problem: 'answered_without_evidence', observed_value: 0.75 },
    ])
    expect(missed([unanswerable('u', 0.9)], [{ id: 'u', sufficient: false, score: 0.25 }]).misses).toEqual([])
  })

  test('are listed as many of each kind, the worst, as the report holds, and all counted', () => {
    const many = Array.from({ length: 60 }, (_, at) => [
      answerable(`lost${at}`, false, at / 100),
      unanswerable(`u${at}`, 0.6),
    ]).flat()
    const { misses, misses_total: total } = missed(many)
    expect(total).toBe(120)
    expect(misses).toHaveLength(REPORT_MISSES_MAX)
    const lost = misses.filter(({ problem }) => problem === 'not_found')
    expect(lost).toHaveLength(REPORT_MISSES_MAX / 2)
    expect([lost[0]?.id, lost.at(-1)?.id]).toEqual(['lost59', 'lost35'])
    expect(missed(many.slice(0, 1)).misses).toHaveLength(1)
  })
})
