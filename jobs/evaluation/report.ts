import { orders, type ProfileParameters, EVIDENCE_SIGNALS } from '#core/domain/retrieval-profile.ts'
import { servedOf, type ByMode } from './ask.ts'
import { rankingsOf, observedValue, type Decision } from './figures.ts'
import { leastRecall, FILTERED_RECALL_MIN, SELECTIVITIES } from './filtered-questions.ts'
import type { FilteredMeasurement, FilteredRecall } from './filtered-questions.ts'
import type { QueryWithQrels } from './questions.ts'
import { decisionFigures, type DecisionFigures } from './metrics/abstention.ts'
import type { Latency, Outcomes, Outcome } from './outcomes.ts'
import {
  PROBLEMS,
  REPORT_UNKNOWN_RELEVANT_MAX,
  evaluationReportSchema,
  REPORT_MISSES_MAX,
} from './page/evaluation-report.ts'
import type { EvaluationReport, Gate, Miss } from './page/evaluation-report.ts'
import { INSUFFICIENT_ANSWERED_MAX } from './calibration/fit.ts'
import type { SystemFigures } from './metrics/ranking.ts'

export interface Measured {
  readonly kind: EvaluationReport['kind']
  readonly dataset: string
  /** Null: a temporary version, which has no gates. */
  readonly versionId: string | null
  /** SHA-256 (hex) of the file of questions; null: none. */
  readonly questionSet: string | null
  readonly passages: number
  readonly questions: readonly QueryWithQrels[]
  readonly outcomes: Outcomes
  readonly profile: ProfileParameters
  readonly decision: Decision
  readonly latency: ByMode<Latency>
  /** Undefined: the version has no vectors. */
  readonly filtered: FilteredMeasurement | undefined
  /** Relevant ids that the version does not hold. */
  readonly missing: readonly string[]
  readonly rewriter?: EvaluationReport['rewriter']
  readonly reader?: EvaluationReport['reader']
  /** On which the version's background was measured; 0: it is too small. Absent: not told. */
  readonly backgroundQuestions?: number
  /** Undefined: the version has no search questions. */
  readonly searchQuestions?: EvaluationReport['search_questions']
}

export interface ReportInput extends Measured {
  /** Null: no version was active. */
  readonly comparison: EvaluationReport['comparison']
  /** What was lost or changed, against its limits; they do not decide whether the version passed. */
  readonly changeGates: readonly Gate[]
  /** Undefined: none was embedded, or none counted. */
  readonly longPassages?: EvaluationReport['long_passages']
}

/** Returns all measurements, as stored with a version and shown on its page. */
export function reportOf(input: ReportInput): EvaluationReport {
  const { questions, outcomes, decision, latency, filtered, missing } = input
  const { dense_weight, reader } = input.profile
  const unanswerable = questions.filter(({ answerable }) => answerable === false).length
  const { threshold, target_risk, folds } = decision.calibration
  const abstention =
    decision.scored.length === 0
      ? undefined
      : decisionFigures(decision.scored, { signal: EVIDENCE_SIGNALS.plain, threshold, target_risk, folds })
  const systems = rankingsOf(outcomes)
  const gates = input.versionId === null ? [] : gatesOf(systems, abstention, filtered?.recall)
  return evaluationReportSchema.parse({
    format: 1,
    kind: input.kind,
    dataset: input.dataset,
    version_id: input.versionId,
    question_set: input.questionSet,
    passages: input.passages,
    queries: questions.length,
    answerable: questions.length - unanswerable,
    unanswerable,
    systems,
    ranking: { dense_weight, reranker: reader !== null && orders(reader) ? reader.model : null },
    abstention: abstention ?? null,
    calibrated_on: calibratedOn(decision),
    ...(input.rewriter === undefined ? {} : { rewriter: input.rewriter }),
    ...(input.reader === undefined ? {} : { reader: input.reader }),
    ...(input.backgroundQuestions === undefined ? {} : { chance_questions: input.backgroundQuestions }),
    filtered_recall: filtered === undefined ? {} : leastRecall(filtered.recall),
    filtered_recall_by_kind: filtered?.recall ?? {},
    filtered_recall_sample: {
      questions: filtered?.questions ?? 0,
      sampled_rows: filtered?.sampledRows ?? 0,
      fewer_than_10_passages: filtered?.fewRows ?? [],
    },
    latency_ms: servedOf(latency),
    latency_ms_by_system: latency,
    gates: [...gates, ...input.changeGates],
    passed: gates.every(({ passed }) => passed),
    comparison: input.comparison,
    ...missesOf(questions, servedOf(outcomes), decision),
    unknown_relevant: missing.slice(0, REPORT_UNKNOWN_RELEVANT_MAX),
    unknown_relevant_total: missing.length,
    ...(input.longPassages === undefined ? {} : { long_passages: input.longPassages }),
    ...(input.searchQuestions === undefined ? {} : { search_questions: input.searchQuestions }),
  })
}

export function calibratedOn({ calibration, isFitted, refused }: Decision): EvaluationReport['calibrated_on'] {
  if (isFitted) return { source: 'question set', questions: calibration.questions }
  return { source: 'default', ...(refused === undefined ? {} : { refused }) }
}

/**
 * Returns the figures that `--json` writes; their names and meanings are stable. `abstention` is null without labels.
 */
export function figuresOf(report: EvaluationReport): object {
  const { dataset, passages, queries, systems, abstention, filtered_recall, latency_ms, rewriter, reader } = report
  const { signal, auroc, aurc, ece, target_risk, coverage_at_target, folds } = abstention ?? {}
  const decision = { signal, auroc, aurc, ece, target_risk, coverage_at_target, folds }
  const figures = { dataset, passages, queries, systems, filtered_recall, latency_ms }
  return { ...figures, abstention: abstention && decision, ...(rewriter && { rewriter }), ...(reader && { reader }) }
}

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

export type Misses = ReturnType<typeof missesOf>

/**
 * Lists questions whose evidence is not among the first ten records, and questions with a wrong decision. Where the
 * decision was fitted on the questions, the observed value is the one from cross-validation.
 */
export function missesOf(
  questions: readonly QueryWithQrels[],
  outcomes: readonly Outcome[],
  { calibration, scored }: Pick<Decision, 'calibration' | 'scored'>,
) {
  const probabilities = new Map(scored.map(({ id, score }) => [id, score]))
  const found = questions.flatMap((question, at) => {
    const outcome = outcomes[at]
    if (outcome === undefined) return []
    const observed = probabilities.get(question.id) ?? observedValue(calibration, outcome)
    const answered = question.answerable === undefined ? undefined : observed >= calibration.threshold
    const problem = problemOf(question, outcome, answered)
    return problem === undefined ? [] : [missOf(problem, question, outcome, observed)]
  })
  const byProblem = Map.groupBy(found, ({ problem }) => problem)
  const kinds = PROBLEMS.map((problem) => byProblem.get(problem) ?? []).filter(({ length }) => length > 0)
  const each = Math.floor(REPORT_MISSES_MAX / Math.max(1, kinds.length))
  return {
    /** The worst of each kind: wrong abstentions by ascending, all others by descending observed value. */
    misses: kinds.flatMap((misses) => misses.sort(worstFirst).slice(0, each)),
    misses_total: found.length,
  }
}

/** @param answered undefined where no decision was taken. */
function problemOf({ answerable }: QueryWithQrels, { figures }: Outcome, answered: boolean | undefined) {
  if (answerable === false) return answered === true ? 'answered_without_evidence' : undefined
  if (figures === undefined) return undefined
  if (figures['recall@10'] === 0) return 'not_found'
  return answered === false ? 'abstained_with_evidence' : undefined
}

function missOf(problem: Miss['problem'], { id, text, qrels }: QueryWithQrels, { top }: Outcome, observed: number) {
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
