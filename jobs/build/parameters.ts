import { z } from 'zod'
import { BOUNDS } from '#core/platform/bounds.ts'
import { profileParametersSchema, rerankerSchema } from '#core/domain/retrieval-profile.ts'
import type { ProfileParameters } from '#core/domain/retrieval-profile.ts'

/** Parameters of a build, stored with its row. */
export const buildParametersSchema = z.strictObject({
  /** SHA-256 (hex) of a question set, stored in the artifact store like a snapshot. Absent: known-item evaluation. */
  questions_sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .optional(),
  embedding: z.enum(['local', 'openai']),
  /** Minimum of rows that a vector search scores, in the profile of the new version. */
  expansion: z.int().min(1).max(BOUNDS.rowsScoredMinMax).optional(),
  /** Maximum share of the answers without evidence; the decision's threshold is fitted to it. */
  target_risk: z.number().gt(0).lt(1).default(0.05),
  /** A re-ranker to try. The profile gets it only if it ranks the question set better. */
  reranker: rerankerSchema.optional(),
})
export type BuildParameters = z.infer<typeof buildParametersSchema>

/**
 * The vectors' share of the ranking, unless a question set fits another. Hashed words carry no information beyond the
 * words, so they only order passages that share no word with the question. A weight of 0.05 gains up to 0.004 nDCG@10
 * on one set and loses 0.003 on another (decision 0008). A trained model carries more information.
 */
const DENSE_WEIGHT: Readonly<Record<BuildParameters['embedding'], number>> = { local: 0.005, openai: 0.3 }

/** Returns the ranking parameters of a version before any fitting. */
export function defaultProfile({
  embedding,
  expansion,
}: Pick<BuildParameters, 'embedding' | 'expansion'>): ProfileParameters {
  return profileParametersSchema.parse({
    expansion: expansion ?? BOUNDS.rowsScoredMinDefault,
    fusion: { method: 'weighted', dense_weight: DENSE_WEIGHT[embedding] },
  })
}
