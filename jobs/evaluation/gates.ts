import { servedOf } from './ask.ts'
import type { ByMode } from './ask.ts'
import { INSUFFICIENT_ANSWERED_MAX } from './calibration/target-threshold.ts'
import { FILTERED_RECALL_MIN, leastRecall } from './filtered-recall.ts'
import type { FilteredRecall } from './filtered-recall.ts'
import { SELECTIVITIES } from './measured-filters.ts'
import type { DecisionFigures } from './metrics/decision.ts'
import type { SystemFigures } from './metrics/ranking.ts'
import type { Gate } from './page/evaluation-report.ts'

export const RECALL_MIN = 0.9

/**
 * Returns the gates that a candidate must pass before activation. Its files are verified before the evaluation.
 * @param filteredRecall undefined: the version has no vectors.
 */
export function gatesOf(
  systems: ByMode<SystemFigures>,
  decision: DecisionFigures | undefined,
  filteredRecall: FilteredRecall | undefined,
): readonly Gate[] {
  return [
    atLeast(
      'ranking',
      `recall@5, ${systems.hybrid === undefined ? 'lexical' : 'hybrid'}`,
      servedOf(systems)['recall@5'],
      RECALL_MIN,
    ),
    ...(decision?.answered_insufficient === undefined || decision.answered_insufficient === null
      ? []
      : [
          atMost(
            'decision',
            'unanswerable questions answered',
            decision.answered_insufficient,
            INSUFFICIENT_ANSWERED_MAX,
          ),
        ]),
    ...(filteredRecall === undefined ? [] : filteredGates(leastRecall(filteredRecall))),
  ]
}

function filteredGates(least: Readonly<Record<string, number>>): readonly Gate[] {
  return SELECTIVITIES.map((selectivity) =>
    atLeast(
      'filtered recall',
      `recall@10 against exact, filter keeps ${selectivity} %`,
      least[selectivity] ?? 0,
      FILTERED_RECALL_MIN,
    ),
  )
}

function atLeast(group: Gate['group'], label: string, value: number, bound: number): Gate {
  return { group, label, value, direction: 'at_least', bound, passed: value >= bound }
}

function atMost(group: Gate['group'], label: string, value: number, bound: number): Gate {
  return { group, label, value, direction: 'at_most', bound, passed: value <= bound }
}
