import { z } from 'zod'
import { BOUNDS } from '#core/bounds.ts'

/** What a build was asked to do; stored with its row. */
export const buildParametersSchema = z.strictObject({
  /** SHA-256 (hex) of a question set that lies in the artifact store as a snapshot does; absent: known-item evaluation. */
  questions_sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .optional(),
  embedding: z.enum(['local', 'openai']),
  /** Candidates that graph search keeps in view, in the profile of the new version; absent: what its embedding needs. */
  expansion: z.int().min(1).max(BOUNDS.searchExpansionMax).optional(),
})
export type BuildParameters = z.infer<typeof buildParametersSchema>

/**
 * What each provider's vectors need for recall@5 ≥ 0.98: hashed words have no low-dimensional shape for a graph to follow (16k passages of
 * EU acts: 0.88 at 64, 0.98 at 256, 0.99 at 512); with so many the search node scores corpora up to some 37,000 passages exactly.
 */
const EXPANSION: Readonly<Record<BuildParameters['embedding'], number>> = { local: 512, openai: BOUNDS.searchExpansionDefault }

export function expansionOf(parameters: BuildParameters): number {
  return parameters.expansion ?? EXPANSION[parameters.embedding]
}
