import { z } from 'zod'

/** How the provider answers queries. */
export const behaviourSchema = z.strictObject({
  latencyMs: z.number().min(0),
  /** Every query fails, so an admitted request is refunded. */
  failing: z.boolean(),
})
export type ProviderBehaviour = z.infer<typeof behaviourSchema>
