import { z } from 'zod'
import { VERIFICATION_STATUSES } from '#core/artifact/passage.ts'

/** The ranking parameters of a retrieval profile; immutable once stored. */
export const profileParametersSchema = z.strictObject({
  /** Candidates that graph search keeps in view. */
  expansion: z.int().min(1).max(4_096).default(64),
  /** Only passages of these verification states are served. */
  verification_statuses: z.array(z.enum(VERIFICATION_STATUSES)).min(1).default(['verified']),
  /** Whether a revision must be in force on the day of the request. */
  in_force_only: z.boolean().default(true),
})
export type ProfileParameters = z.infer<typeof profileParametersSchema>

/** In this version of the service the decision rests on the cosine of the best passage. */
export const TOP_SCORE_SIGNAL = 'top_score'
