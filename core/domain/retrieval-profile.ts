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
  /** Calibration of the probability that the decision is based on. */
  calibration: calibrationSchema,
})
export type ProfileParameters = z.infer<typeof profileParametersSchema>

/** The calibrated probability that the list holds sufficient evidence. */
export const EVIDENCE_SIGNAL = 'evidence_probability'

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
