import { REPORT_MISSES_MAX } from './page/evaluation-report.ts'
import type { Miss } from './page/evaluation-report.ts'
import type { Outcome } from './outcomes.ts'
import type { QueryWithQrels } from './query-with-qrels.ts'
import { observedValue } from './figures.ts'
import type { Decision } from './figures.ts'

export interface Misses {
  /** The worst of each kind: wrong abstentions by ascending, all others by descending observed value. */
  readonly misses: readonly Miss[]
  readonly misses_total: number
}

/**
 * Lists questions whose evidence is not among the first ten records, and questions with a wrong decision. Where the
 * decision was fitted on the questions, the observed value is the one from cross-validation.
 */
export function missesOf(
  questions: readonly QueryWithQrels[],
  outcomes: readonly Outcome[],
  { calibration, scored }: Pick<Decision, 'calibration' | 'scored'>,
): Misses {
  const probabilities = new Map(scored.map(({ id, score }) => [id, score]))
  const byProblem: Record<Miss['problem'], Miss[]> = {
    not_found: [],
    answered_without_evidence: [],
    abstained_with_evidence: [],
  }
  for (const [at, question] of questions.entries()) {
    const outcome = outcomes[at]
    if (outcome === undefined) continue
    const observed = probabilities.get(question.id) ?? observedValue(calibration, outcome)
    const answered = question.answerable === undefined ? undefined : observed >= calibration.threshold
    const problem = problemOf(question, outcome, answered)
    if (problem !== undefined) byProblem[problem].push(missOf(problem, question, outcome, observed))
  }
  const kinds = Object.values(byProblem).filter((misses) => misses.length > 0)
  const each = Math.floor(REPORT_MISSES_MAX / Math.max(1, kinds.length))
  return {
    misses: kinds.flatMap((misses) => misses.sort(worstFirst).slice(0, each)),
    misses_total: kinds.reduce((sum, misses) => sum + misses.length, 0),
  }
}

/** @param answered undefined where no decision was taken. */
function problemOf(
  { answerable }: QueryWithQrels,
  { figures }: Outcome,
  answered: boolean | undefined,
): Miss['problem'] | undefined {
  if (answerable === false) return answered === true ? 'answered_without_evidence' : undefined
  if (figures === undefined) return undefined
  if (figures['recall@10'] === 0) return 'not_found'
  return answered === false ? 'abstained_with_evidence' : undefined
}

function missOf(
  problem: Miss['problem'],
  { id, text, qrels }: QueryWithQrels,
  { top }: Outcome,
  observed: number,
): Miss {
  return {
    problem,
    id,
    text,
    observed_value: observed,
    relevant: [...qrels].filter(([, score]) => score > 0).map(([record]) => record),
    passages: top.map(({ record, score }) => ({ label: record, score, relevant: (qrels.get(record) ?? 0) > 0 })),
  }
}

function worstFirst(a: Miss, b: Miss): number {
  const surestFirst =
    a.problem === 'abstained_with_evidence' ? a.observed_value - b.observed_value : b.observed_value - a.observed_value
  return surestFirst || (a.id < b.id ? -1 : 1)
}
