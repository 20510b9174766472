import { z } from 'zod'
import { changesSchema } from '#core/domain/changes.ts'
import { byMetric, RANKING_METRICS } from '#jobs/evaluation/metrics/ranking.ts'

/** Inputs of a ranking: the words of a question, its vector, or both as the profile fuses them. */
export const RANKING_MODES = ['lexical', 'dense', 'hybrid'] as const
const GATE_GROUPS = ['ranking', 'decision', 'filtered recall', 'speed', 'changes'] as const
/** The questions that both versions were asked, in the order in which their rankings are compared. */
export const QUESTIONS_FROM = [
  'question set of the active version',
  'question set',
  'known items of the active version',
] as const
export type QuestionsFrom = (typeof QUESTIONS_FROM)[number]
export const PROBLEMS = ['not_found', 'answered_without_evidence', 'abstained_with_evidence'] as const

/** Maximum number of list entries in a report; `misses_total` and `unknown_relevant_total` hold the full counts. */
export const REPORT_MISSES_MAX = 50
export const REPORT_UNKNOWN_RELEVANT_MAX = 200
const PASSAGES_PER_MISS_MAX = 10

const share = z.number().min(0).max(1)
const count = z.int().nonnegative()
const interval = z.tuple([z.number(), z.number()]).readonly()
const metric = z.enum(RANKING_METRICS)
const system = z.enum(RANKING_MODES)
const milliseconds = z.strictObject({ p50: z.number().nonnegative(), p99: z.number().nonnegative() })
/** Maps the percentage of passages that a filter allows ("100", "0.01") to recall@10 against exact search. */
const selectivity = z.string().regex(/^\d+(?:\.\d+)?$/)
const bySelectivity = z.record(selectivity, share)

const systemSchema = z.strictObject({
  ...byMetric(() => share),
  /** 95 % bootstrap intervals. */
  ci: z.record(metric, interval),
})

const gateSchema = z.strictObject({
  group: z.enum(GATE_GROUPS),
  /** Name of the measurement, e.g. "recall@5, hybrid". */
  label: z.string().min(1),
  /** Null: not measurable. */
  value: z.number().nullable(),
  direction: z.enum(['at_least', 'at_most']),
  bound: z.number(),
  passed: z.boolean(),
})
export type Gate = z.infer<typeof gateSchema>

/** Figures are null without unanswerable questions. */
const abstentionSchema = z.strictObject({
  signal: z.string(),
  auroc: share.nullable(),
  auroc_ci: interval.nullable(),
  aurc: share.nullable(),
  ece: share.nullable(),
  target_risk: share,
  /** Largest share of all questions that can be answered within the target. */
  coverage_at_target: share.nullable(),
  /** 0: coefficients and threshold are the default, not fitted on these questions. */
  /** Of the cross-validation that gives the scores; 0: the decision was not fitted on these questions. */
  folds: count,
  threshold: share,
  /** Shares of the questions with and without evidence that reach the threshold. */
  answered_sufficient: share.nullable(),
  answered_insufficient: share.nullable(),
  /** [coverage, risk], coverage ascending. */
  curve: z.array(interval).readonly(),
  reliability: z
    .array(
      z.strictObject({
        from: share,
        to: share,
        questions: count,
        /** Mean probability and share with sufficient evidence; null in an empty bin. */
        predicted: share.nullable(),
        observed: share.nullable(),
      }),
    )
    .readonly(),
  /** In reports of earlier releases; shown nowhere. */
  distribution: z.unknown().optional(),
})

/** The decision with a rewriter or a reader, on the labelled questions that it was asked about. */
const readerSchema = z.strictObject({
  model: z.string(),
  questions: count,
  answerable: count,
  answered_answerable: count,
  answered_unanswerable: count,
  /** Null without questions of both kinds. */
  auroc: share.nullable(),
  /** Whether it was fitted on them; each is then scored by a model that was fitted without it. */
  is_fitted: z.boolean(),
})
export type ReaderFigures = z.infer<typeof readerSchema>

/** How many texts without evidence it answered: drawn at random, or the answerable questions without their passages. */
const refusedSchema = z.strictObject({ drawn: count, answered: count, masked: z.literal(true).optional() })
export type Refused = z.infer<typeof refusedSchema>

const calibratedOnSchema = z.discriminatedUnion('source', [
  z.strictObject({ source: z.literal('question set'), questions: count }),
  z.strictObject({ source: z.literal('default'), refused: refusedSchema.optional() }),
])

/** Passages that the embedding model does not read at once; windows: they are embedded to their end. */
const longPassagesSchema = z.strictObject({ passages: count, windows: z.boolean() })

const rankingSchema = z.strictObject({
  /** Weight of the vectors; the words have the rest. */
  dense_weight: share,
  /** Model that re-ranks; null: none. */
  reranker: z.string().nullable(),
})

const comparisonSchema = z.strictObject({
  version_id: z.uuid(),
  questions: count,
  metrics: z.record(metric, z.strictObject({ candidate: share, active: share, difference: z.number(), ci: interval })),
  worse_on: z.array(metric).readonly(),
  worse: z.boolean(),
  questions_from: z.enum(QUESTIONS_FROM).optional(),
  /** The changes of the candidate against the active version. */
  changes: changesSchema.optional(),
})

const missSchema = z.strictObject({
  problem: z.enum(PROBLEMS),
  id: z.string(),
  /** Null unless the question set is the operator's own. */
  text: z.string().nullable(),
  observed_value: share,
  relevant: z.array(z.string()).readonly(),
  /** The passages found, best first. */
  passages: z
    .array(z.strictObject({ label: z.string(), score: z.number(), relevant: z.boolean() }))
    .max(PASSAGES_PER_MISS_MAX)
    .readonly(),
})
export type Miss = z.infer<typeof missSchema>

/** Search questions of the version. Records are named by source id; lists are cut, the totals are not. */
const searchQuestionsSchema = z.strictObject({
  questions: count,
  /** Records that have any. */
  passages: count,
  sample: z.array(z.strictObject({ id: z.string(), lang: z.string(), q: z.string() })).readonly(),
  /** Questions that several records have. */
  repeated: z.array(z.strictObject({ q: z.string(), passages: count })).readonly(),
  repeated_total: count,
  /** How many were asked of the version, and which of them do not find their own record first. */
  asked: count,
  elsewhere: z.array(z.strictObject({ id: z.string(), q: z.string(), first: z.string().nullable() })).readonly(),
  elsewhere_total: count,
})
export type SearchQuestionFigures = z.infer<typeof searchQuestionsSchema>

/** Result of an evaluation, stored with a version; `npm run evaluate --json` writes figures of it. */
export const evaluationReportSchema = z.strictObject({
  format: z.literal(1),
  /** "known items": questions made from the passages themselves; "data set": a research collection, never served. */
  kind: z.enum(['question set', 'known items', 'data set']),
  dataset: z.string(),
  version_id: z.uuid().nullable(),
  /** SHA-256 of the captured questions. */
  question_set: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .nullable(),
  passages: count,
  queries: count,
  answerable: count,
  unanswerable: count,
  systems: z.partialRecord(system, systemSchema),
  ranking: rankingSchema,
  /** Absent: nothing was embedded. */
  long_passages: longPassagesSchema.optional(),
  abstention: abstentionSchema.nullable(),
  calibrated_on: calibratedOnSchema,
  /** Absent: the profile has no rewriter, or none was asked. */
  rewriter: readerSchema.optional(),
  /** Absent: the profile has no reader, or none was asked. */
  reader: readerSchema.optional(),
  /** Questions of the version's own words on which the background was measured; 0: the version is too small. */
  chance_questions: count.optional(),
  /** Lowest recall over the kinds of filter below; empty for a version without vectors. */
  filtered_recall: bySelectivity,
  /** Maps the kind of filter ("random", "near", "far") to recall by selectivity. */
  filtered_recall_by_kind: z.record(z.string().min(1), bySelectivity),
  /** The questions behind the recall under filters. */
  filtered_recall_sample: z.strictObject({
    questions: count,
    /** Rows whose vectors were asked, because there are too few questions. */
    sampled_rows: count,
    /** Selectivities whose recall refers to fewer than ten passages, because the filter allows no more. */
    fewer_than_10_passages: z.array(selectivity).readonly(),
  }),
  /** Latency of the served system, one query at a time. */
  latency_ms: milliseconds,
  latency_ms_by_system: z.partialRecord(system, milliseconds),
  gates: z.array(gateSchema).readonly(),
  /** True if every gate is passed, but for those of the group `changes`: approvals accept changes by name. */
  passed: z.boolean(),
  /** Comparison with the version that was active at the time; null when there was none. */
  comparison: comparisonSchema.nullable(),
  misses: z.array(missSchema).max(REPORT_MISSES_MAX).readonly(),
  misses_total: count,
  unknown_relevant: z.array(z.string()).max(REPORT_UNKNOWN_RELEVANT_MAX).readonly(),
  unknown_relevant_total: count,
  /** Absent: the version has none. */
  search_questions: searchQuestionsSchema.optional(),
})
export type EvaluationReport = z.infer<typeof evaluationReportSchema>
