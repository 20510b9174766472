import { z } from 'zod'
import { BOUNDS } from '#core/platform/bounds.ts'
import { profileParametersSchema, rerankerSchema } from '#core/domain/retrieval-profile.ts'
import type { ProfileParameters } from '#core/domain/retrieval-profile.ts'

/** What a build was asked to do; stored with its row. */
export const buildParametersSchema = z.strictObject({
  /**
   * SHA-256 (hex) of a question set that lies in the artifact store as a snapshot does; absent: known-item evaluation.
   */
  questions_sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .optional(),
  embedding: z.enum(['local', 'openai']),
  /** Rows that a search of the vectors scores at least, in the profile of the new version. */
  expansion: z.int().min(1).max(BOUNDS.rowsScoredMinMax).optional(),
  /** At most this share of the answers may be without evidence: what the decision's threshold is fitted to. */
  target_risk: z.number().gt(0).lt(1).default(0.05),
  /** A re-ranker to try; the profile gets it only if it ranks the question set better. */
  reranker: rerankerSchema.optional(),
})
export type BuildParameters = z.infer<typeof buildParametersSchema>

/**
 * The vectors' share of the ranking, unless a question set fits another. Hashed words say nothing that words do not,
 * and so only order what shares no word with the question: 0.05 gains up to 0.004 nDCG@10 on one set and loses 0.003 on
 * another (decision 0008). A trained model says more.
 */
const DENSE_WEIGHT: Readonly<Record<BuildParameters['embedding'], number>> = { local: 0.005, openai: 0.3 }

/** What a version is ranked with before anything is fitted to it. */
export function defaultProfile({
  embedding,
  expansion,
}: Pick<BuildParameters, 'embedding' | 'expansion'>): ProfileParameters {
  return profileParametersSchema.parse({
    expansion: expansion ?? BOUNDS.rowsScoredMinDefault,
    fusion: { method: 'weighted', dense_weight: DENSE_WEIGHT[embedding] },
  })
}
