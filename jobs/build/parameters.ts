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
  /** Candidates that graph search keeps in view, in the profile of the new version. */
  expansion: z.int().min(1).max(BOUNDS.searchExpansionMax).default(BOUNDS.searchExpansionDefault),
})
export type BuildParameters = z.infer<typeof buildParametersSchema>
