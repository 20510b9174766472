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
  const answered = decision?.answered_insufficient ?? null
  const filtered = filteredRecall === undefined ? {} : leastRecall(filteredRecall)
  return [
    gate('ranking', `recall@5, ${systems.hybrid ? 'hybrid' : 'lexical'}`, servedOf(systems)['recall@5'], RECALL_MIN),
    ...(answered === null
      ? []
      : [gate('decision', 'unanswerable questions answered', answered, INSUFFICIENT_ANSWERED_MAX, 'at_most')]),
    ...SELECTIVITIES.filter(() => filteredRecall !== undefined).map((share) =>
      gate(
        'filtered recall',
        `recall@10 against exact, filter keeps ${share} %`,
        filtered[share] ?? 0,
        FILTERED_RECALL_MIN,
      ),
    ),
  ]
}

function gate(
  group: Gate['group'],
  label: string,
  value: number,
  bound: number,
  direction: Gate['direction'] = 'at_least',
): Gate {
  return { group, label, value, direction, bound, passed: direction === 'at_least' ? value >= bound : value <= bound }
}
