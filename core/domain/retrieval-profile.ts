import { z } from 'zod'
import { VERIFICATION_STATUSES } from '#core/index/passages/record.ts'
import type { Ranking } from '#core/domain/search.ts'
import { calibrationSchema } from './calibration.ts'

/** A model behind an HTTP endpoint that re-ranks the first passages; see `core/reranking`. */
export const rerankerSchema = z.strictObject({
  model: z.string().min(1).max(200),
  /** Number of passages sent to it. */
  candidates: z.int().min(2).max(50),
})

const READER_KINDS = ['chat', 'cross-encoder'] as const
/** Passages that a reader reads: those that a caller looks at. */
export const READ_PASSAGES_MAX = 5

/** A model behind an HTTP endpoint that reads question and first passages; see `core/reading`. */
export const readerSchema = z.strictObject({
  /** A chat model, or a cross-encoder at the re-ranking endpoint. */
  kind: z.enum(READER_KINDS),
  model: z.string().min(1).max(200),
  /** SHA-256 (hex) of the instructions; null for a cross-encoder, which has none. */
  prompt_sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .nullable(),
  /** What a failure of the endpoint does: refuse the request, or decide by the calibration without the reader. */
  on_failure: z.enum(['refuse', 'decide_without']),
  /** Calibration of the decision with what the reader says. */
  calibration: calibrationSchema,
})
export type ReaderParameters = z.infer<typeof readerSchema>

/** The ranking parameters of a retrieval profile and its decision; immutable once stored. */
export const profileParametersSchema = z.strictObject({
  /** Minimum of rows scored by a vector search. */
  expansion: z.int().min(1).max(4_096),
  /** Only passages of these verification states are served. */
  verification_statuses: z.array(z.enum(VERIFICATION_STATUSES)).min(1),
  /** Whether a revision must be in force on the day of the request. */
  in_force_only: z.boolean(),
  /** Weight of the vectors in the fused score, in [0, 1]; the words have the rest. */
  dense_weight: z.number().min(0).max(1),
  /** Whether a provision with several revisions is shown once, in the revision that is in force. */
  collapse_revisions: z.boolean(),
  /** Maximum of passages of one document in one reply; 0: no limit. */
  per_document_max: z.int().min(0).max(100),
  reranker: rerankerSchema.nullable(),
  /** Null: nothing is read. */
  reader: readerSchema.nullable(),
  /** Calibration of the probability that the decision is based on where nothing is read. */
  calibration: calibrationSchema,
})
export type ProfileParameters = z.infer<typeof profileParametersSchema>

/** The calibrated probability that the list holds sufficient evidence. */
export const EVIDENCE_SIGNAL = 'evidence_probability'
/** The same, from predictors that a reader's scores are part of. */
export const READ_EVIDENCE_SIGNAL = 'evidence_probability_with_reader'

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
