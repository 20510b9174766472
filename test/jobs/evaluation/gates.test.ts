import { describe, expect, test } from 'vitest'
import type { ByMode } from '#jobs/evaluation/ask.ts'
import { FILTERED_RECALL_MIN } from '#jobs/evaluation/filtered-recall.ts'
import { SELECTIVITIES } from '#jobs/evaluation/measured-filters.ts'
import type { FilteredRecall } from '#jobs/evaluation/filtered-recall.ts'
import { RECALL_MIN, gatesOf } from '#jobs/evaluation/report.ts'
import { INSUFFICIENT_ANSWERED_MAX } from '#jobs/evaluation/calibration/fit.ts'
import { decisionFigures } from '#jobs/evaluation/metrics/abstention.ts'
import { byMetric } from '#jobs/evaluation/metrics/ranking.ts'
import type { SystemFigures } from '#jobs/evaluation/metrics/ranking.ts'
import type { Gate } from '#jobs/evaluation/page/evaluation-report.ts'

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
const RECALL = Object.fromEntries(SELECTIVITIES.map((name) => [name, 1]))
const recallWith = (change: Partial<FilteredRecall> = {}): FilteredRecall => ({
  random: RECALL,
  near: RECALL,
  far: RECALL,
  ...change,
})

/** Of ten questions without evidence so many reach the threshold. */
function decision(answered: number): ReturnType<typeof decisionFigures> {
  const without = Array.from({ length: 10 }, (_, at) => ({ sufficient: false, score: at < answered ? 0.9 : 0.1 }))
  return decisionFigures([{ sufficient: true, score: 0.9 }, ...without], {
    signal: 's',
    threshold: 0.5,
    target_risk: 0.05,
    folds: 5,
  })
}
const failing = (gates: readonly Gate[]): readonly string[] =>
  gates.filter(({ passed }) => !passed).map(({ label }) => label)

describe('a candidate', () => {
  test('that reaches every bound exactly passes', () => {
    const least = { ...RECALL, 0.01: FILTERED_RECALL_MIN }
    const gates = gatesOf(hybrid(RECALL_MIN), decision(10 * INSUFFICIENT_ANSWERED_MAX), recallWith({ far: least }))
    expect(failing(gates)).toEqual([])
    expect(gates.map(({ group }) => group)).toEqual([
      'ranking',
      'decision',
      ...SELECTIVITIES.map(() => 'filtered recall'),
    ])
  })

  test('fails on ranking, decision and filtered recall each by itself', () => {
    expect(failing(gatesOf(hybrid(RECALL_MIN - 0.001), decision(0), recallWith()))).toEqual(['recall@5, hybrid'])
    expect(failing(gatesOf(hybrid(1), decision(2), recallWith()))).toEqual(['unanswerable questions answered'])
    expect(failing(gatesOf(hybrid(1), decision(0), recallWith({ near: { ...RECALL, 10: 0.979 } })))).toEqual([
      'recall@10 against exact, filter keeps 10 %',
    ])
  })

  test.each(['random', 'near', 'far'] as const)(
    'fails at every selectivity at which %s filters lose passages',
    (kind) => {
      const lost = Object.fromEntries(SELECTIVITIES.map((name) => [name, 0.5]))
      expect(failing(gatesOf(hybrid(1), decision(0), recallWith({ [kind]: lost })))).toHaveLength(SELECTIVITIES.length)
    },
  )

  test('whose filtered recall was not measured at a selectivity fails there', () => {
    const { 1: _, ...unmeasured } = RECALL
    expect(failing(gatesOf(hybrid(1), decision(0), recallWith({ near: unmeasured })))).toEqual([
      'recall@10 against exact, filter keeps 1 %',
    ])
  })

  test('without vectors is judged by the words and the decision alone', () => {
    const gates = gatesOf({ lexical: figures(RECALL_MIN - 0.001) }, decision(0), undefined)
    expect(gates.map(({ group }) => group)).toEqual(['ranking', 'decision'])
    expect(failing(gates)).toEqual(['recall@5, lexical'])
  })

  test('without unanswerable questions has no decision to judge', () => {
    const answerable = decisionFigures([{ sufficient: true, score: 0.9 }], {
      signal: 's',
      threshold: 0.5,
      target_risk: 0.05,
      folds: 0,
    })
    for (const measured of [undefined, answerable])
      expect(gatesOf(hybrid(1), measured, recallWith()).map(({ group }) => group)).not.toContain('decision')
  })
})
