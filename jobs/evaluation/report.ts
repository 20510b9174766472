import { EVIDENCE_SIGNAL, orders } from '#core/domain/retrieval-profile.ts'
import type { ProfileParameters } from '#core/domain/retrieval-profile.ts'
import { servedOf } from './ask.ts'
import type { ByMode } from './ask.ts'
import { rankingsOf } from './figures.ts'
import type { Decision } from './figures.ts'
import type { FilteredMeasurement } from './filtered-questions.ts'
import { leastRecall } from './filtered-recall.ts'
import { gatesOf } from './gates.ts'
import type { QueryWithQrels } from './query-with-qrels.ts'
import { decisionFigures } from './metrics/decision.ts'
import { missesOf } from './misses.ts'
import type { Latency, Outcomes } from './outcomes.ts'
import { REPORT_UNKNOWN_RELEVANT_MAX, evaluationReportSchema } from './page/evaluation-report.ts'
import type {
  EvaluationReport,
  Gate,
  LongPassages,
  ReaderFigures,
  SearchQuestionFigures,
} from './page/evaluation-report.ts'

/** What was measured on a version. */
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
  /** Absent: no reader was asked. */
  readonly reader?: ReaderFigures | undefined
  /** On which the version's background was measured; 0: it is too small. Absent: not told. */
  readonly backgroundQuestions?: number
  /** Undefined: the version has no search questions. */
  readonly searchQuestions?: SearchQuestionFigures | undefined
}

export interface ReportInput extends Measured {
  /** Null: no version was active. */
  readonly comparison: EvaluationReport['comparison']
  /** What was lost or changed, against its limits; they do not decide whether the version passed. */
  readonly changeGates: readonly Gate[]
  /** Undefined: none was embedded, or none counted. */
  readonly longPassages?: LongPassages | undefined
}

/** Returns all measurements, as stored with a version and shown on its page. */
export function reportOf(input: ReportInput): EvaluationReport {
  const { questions, outcomes, decision, latency, filtered, missing } = input
  const unanswerable = questions.filter(({ answerable }) => answerable === false).length
  const { threshold, target_risk, folds } = decision.calibration
  const abstention =
    decision.scored.length === 0
      ? undefined
      : decisionFigures(decision.scored, { signal: EVIDENCE_SIGNAL, threshold, target_risk, folds })
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
    ranking: rankingOf(input.profile),
    abstention: abstention ?? null,
    calibrated_on: calibratedOn(decision),
    ...(input.reader === undefined ? {} : { reader: input.reader }),
    ...(input.backgroundQuestions === undefined ? {} : { chance_questions: input.backgroundQuestions }),
    ...filteredFigures(filtered),
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

type FilteredFigures = Pick<EvaluationReport, 'filtered_recall' | 'filtered_recall_by_kind' | 'filtered_recall_sample'>

function filteredFigures(filtered: FilteredMeasurement | undefined): FilteredFigures {
  return {
    filtered_recall: filtered === undefined ? {} : leastRecall(filtered.recall),
    filtered_recall_by_kind: filtered?.recall ?? {},
    filtered_recall_sample: {
      questions: filtered?.questions ?? 0,
      sampled_rows: filtered?.sampledRows ?? 0,
      fewer_than_10_passages: filtered?.fewRows ?? [],
    },
  }
}

function rankingOf({ dense_weight, reader }: ProfileParameters): EvaluationReport['ranking'] {
  return { dense_weight, reranker: reader !== null && orders(reader) ? reader.model : null }
}

/** Says what a decision was calibrated on. */
export function calibratedOn({ calibration, isFitted, refused }: Decision): EvaluationReport['calibrated_on'] {
  if (isFitted) return { source: 'question set', questions: calibration.questions }
  return { source: 'default', ...(refused === undefined ? {} : { refused }) }
}

/**
 * Returns the figures that `--json` writes; their names and meanings are stable. `abstention` is null without labels.
 */
export function figuresOf({
  dataset,
  passages,
  queries,
  systems,
  abstention,
  filtered_recall,
  latency_ms,
  reader,
}: EvaluationReport): object {
  return {
    dataset,
    passages,
    queries,
    systems,
    abstention: abstention === null ? null : abstentionFigures(abstention),
    filtered_recall,
    latency_ms,
    ...(reader === undefined ? {} : { reader }),
  }
}

function abstentionFigures(abstention: NonNullable<EvaluationReport['abstention']>): object {
  const { signal, auroc, aurc, ece, target_risk, coverage_at_target, folds } = abstention
  return { signal, auroc, aurc, ece, target_risk, coverage_at_target, folds }
}
