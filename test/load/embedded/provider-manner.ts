import { z } from 'zod'

/** How the provider answers queries. */
export const mannerSchema = z.strictObject({
  latencyMs: z.number().min(0),
  /** Every query fails, so an admitted request is refunded. */
  failing: z.boolean(),
})
export type Manner = z.infer<typeof mannerSchema>
