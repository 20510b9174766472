import { z } from 'zod'
import { VERIFICATION_STATUSES } from '#core/index/passages/record.ts'
import type { Ranking } from '#core/domain/search.ts'
import { calibrationSchema, type Calibration } from './calibration.ts'
import { descriptionSchema } from '#core/index/format/description.ts'

export const READER_KINDS = ['chat', 'cross-encoder'] as const
/** What the scores of a reader do: they order the passages, give the decision its predictors, or both. */
export const READER_SCORES = ['order', 'decide', 'both'] as const
/** Passages whose scores decide: those that a caller looks at. */
export const READ_PASSAGES_MAX = 5
export const ORDERED_PASSAGES_MIN = 2
export const ORDERED_PASSAGES_MAX = 50

/** A model behind an HTTP endpoint that scores a question and passages; see `core/reading`. */
const readerSchema = z
  .strictObject({
    /** A chat model, or a cross-encoder at a re-ranking endpoint. */
    kind: z.enum(READER_KINDS),
    model: z.string().min(1).max(200),
    /** SHA-256 (hex) of the instructions; null for a cross-encoder, which has none. */
    prompt_sha256: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .nullable(),
    scores: z.enum(READER_SCORES),
    /** First passages that it reads. Where its scores only decide, these are at most `READ_PASSAGES_MAX` served ones. */
    passages: z.int().min(ORDERED_PASSAGES_MIN).max(ORDERED_PASSAGES_MAX),
    /** What a failure of the endpoint does: refuse the request, or decide by the calibration without the reader. */
    on_failure: z.enum(['refuse', 'decide_without']),
    /** Calibration of the decision with its scores; null: they decide nothing. */
    calibration: calibrationSchema.nullable(),
  })
  .refine((reader) => decides(reader) === (reader.calibration !== null), 'only scores that decide are calibrated')
  .refine((reader) => !orders(reader) || reader.on_failure === 'refuse', 'no other order may be served')
export type ReaderParameters = z.infer<typeof readerSchema>

/** A chat model that writes search queries for a question; see `core/rewriting`. */
export const rewriterSchema = z.strictObject({
  model: z.string().min(1).max(200),
  /** SHA-256 (hex) of the instructions. */
  prompt_sha256: z.string().regex(/^[0-9a-f]{64}$/),
  /** What it is told of the knowledge base. */
  description: descriptionSchema,
  /**
   * What a failure of the endpoint does: refuse the request, or search the question's own words and deliver only what
   * their calibration answers.
   */
  on_failure: z.enum(['refuse', 'decide_without']),
  /** Calibration of the decision on a list that its queries found. */
  calibration: calibrationSchema,
  /** Its queries for `CANARIES` when the version was built; absent: none were asked. */
  canaries: z.array(z.array(z.string())).optional(),
})
export type RewriterParameters = z.infer<typeof rewriterSchema>

interface Scoring {
  readonly scores: (typeof READER_SCORES)[number]
}

export function orders(reader: Scoring | null): boolean {
  return reader !== null && reader.scores !== 'decide'
}

export function decides(reader: Scoring | null): boolean {
  return reader !== null && reader.scores !== 'order'
}

/** The ranking parameters of a retrieval profile and its decision; immutable once stored. */
const parametersSchema = z.strictObject({
  /** Minimum of rows scored by a vector search. */
  expansion: z.int().min(1).max(4_096),
  /** Only passages of these verification states are served. */
  verification_statuses: z.array(z.enum(VERIFICATION_STATUSES)).min(1),
  /** Whether a revision must be in force on the day of the request. */
  in_force_only: z.boolean(),
  /** That day, YYYY-MM-DD, in place of the request's; it is in the signed manifest too. */
  as_of: z.iso.date().optional(),
  /** Weight of the vectors in the fused score, in [0, 1]; the words have the rest. */
  dense_weight: z.number().min(0).max(1),
  /** Whether a provision with several revisions is shown once, in the revision that is in force. */
  collapse_revisions: z.boolean(),
  /** Maximum of passages of one document in one reply; 0: no limit. */
  per_document_max: z.int().min(0).max(100),
  /** A passage of a lower share of the first one's score is not served; absent: the default of the ranking. */
  passage_floor: z.number().min(0).max(1).optional(),
  /** Null: the question's own words rank. */
  rewriter: rewriterSchema.nullable().default(null),
  /** Null: nothing is read. */
  reader: readerSchema.nullable(),
  /** Calibration of the probability that the decision is based on where nothing is read. */
  calibration: calibrationSchema,
})
export type ProfileParameters = z.infer<typeof parametersSchema>

/** A profile of a release that had a re-ranker beside the reader, whose scores decided. */
const earlierSchema = z.looseObject({
  reranker: z.strictObject({ model: z.unknown(), candidates: z.unknown() }).nullable(),
  reader: z.looseObject({}).nullable(),
})

/** Reads the parameters of a stored profile, also in the form of earlier releases, which versions keep. */
export const profileParametersSchema = z.preprocess((stored) => {
  const { data } = earlierSchema.safeParse(stored)
  if (data === undefined) return stored
  const { reranker, reader, ...rest } = data
  if (reranker === null)
    return { ...rest, reader: reader && { ...reader, scores: 'decide', passages: READ_PASSAGES_MAX } }
  const { model, candidates } = reranker
  const ordering = { kind: 'cross-encoder', model, prompt_sha256: null, on_failure: 'refuse' }
  if (reader === null)
    return { ...rest, reader: { ...ordering, scores: 'order', passages: candidates, calibration: null } }
  // Two models: the reader is one without instructions, which `createReader` refuses.
  const unusable = { kind: 'chat', prompt_sha256: null, on_failure: 'refuse' }
  return { ...rest, reader: { ...reader, ...unusable, scores: 'decide', passages: READ_PASSAGES_MAX } }
}, parametersSchema)

/**
 * What is stored of a profile. One without a reader has the form of the release before, so that its gateways serve the
 * version while they are replaced; they refuse one with a reader.
 */
export function storedParameters({ rewriter, ...parameters }: ProfileParameters): object {
  const stored = rewriter === null ? parameters : { ...parameters, rewriter }
  return parameters.reader === null ? { ...stored, reranker: null } : stored
}

/** The calibrated probability that the list holds sufficient evidence, by what the decision is based on. */
export const EVIDENCE_SIGNALS = {
  plain: 'evidence_probability',
  /** From the predictors of a list that a rewriter's queries found. */
  rewritten: 'evidence_probability_with_rewriter',
  /** From predictors that a reader's scores are part of. */
  read: 'evidence_probability_with_reader',
} as const

/**
 * Returns the calibration that decides on a list, and its name. Each way of finding and reading a list has its own.
 * @param list whether a rewriter's queries found it, and whether a reader's scores decide.
 */
export function decidingCalibration(
  { calibration, rewriter, reader }: Pick<ProfileParameters, 'calibration' | 'rewriter' | 'reader'>,
  list: { readonly rewritten: boolean; readonly read: boolean },
): { readonly calibration: Calibration; readonly signal: (typeof EVIDENCE_SIGNALS)[keyof typeof EVIDENCE_SIGNALS] } {
  if (list.read && reader?.calibration) return { calibration: reader.calibration, signal: EVIDENCE_SIGNALS.read }
  if (list.rewritten && rewriter !== null)
    return { calibration: rewriter.calibration, signal: EVIDENCE_SIGNALS.rewritten }
  return { calibration, signal: EVIDENCE_SIGNALS.plain }
}

/**
 * Default floors, which lose less than 1 of 100 relevant passages among the first five of field questions; see decision
 * 0063. Scores by words are shares of the greatest possible one, fused scores are squares of such shares.
 */
const PASSAGE_FLOOR = { words: 0.5, fused: 0.25 } as const

/**
 * Returns the passages that bear on the question by themselves: those whose score is not far below the first one's, and
 * those that the question names. The ranks of a reader's order are no scores, so all of its passages are.
 */
export function bearing<P extends { readonly score: number; readonly named: boolean }>(
  { passage_floor: stored, dense_weight, reader }: Pick<ProfileParameters, 'passage_floor' | 'dense_weight' | 'reader'>,
  passages: readonly P[],
): readonly P[] {
  const [first] = passages
  if (first === undefined || (reader !== null && orders(reader))) return passages
  const floor = stored ?? (dense_weight === 0 ? PASSAGE_FLOOR.words : PASSAGE_FLOOR.fused)
  return passages.filter(({ score, named }) => named || score >= floor * first.score)
}

/** Returns how many passages a search gives for a reply of `topK`. */
export function passagesSearched({ reader }: Pick<ProfileParameters, 'reader'>, topK: number): number {
  return reader !== null && orders(reader) ? Math.max(topK, reader.passages) : topK
}

/** @param day UTC day, YYYY-MM-DD, on which a revision must be in force. */
export function rankingOf(parameters: ProfileParameters, day: string): Ranking {
  const { expansion, dense_weight, collapse_revisions, per_document_max } = parameters
  return {
    rowsScoredMin: expansion,
    denseWeight: dense_weight,
    perDocumentMax: per_document_max,
    collapseRevisionsOn: collapse_revisions ? day : '',
  }
}
