import { z } from 'zod'

/** What a stand is started with. */
export const standOptionsSchema = z.strictObject({
  /** Folder of the tree. */
  tree: z.string(),
  dataDir: z.string(),
  passages: z.int(),
  dimensions: z.int(),
  seed: z.int(),
})
export type StandOptions = z.infer<typeof standOptionsSchema>

/** `search`: searches on the threads of this process, two at a time. `settle`: waits until the ledger is complete. */
export const orderSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('search'), ms: z.number(), from: z.int() }),
  z.strictObject({ kind: z.literal('settle') }),
])
export type StandOrder = z.infer<typeof orderSchema>

export const readySchema = z.strictObject({
  gatewayUrl: z.string(),
  bareUrl: z.string(),
  key: z.string(),
  questions: z.array(z.string()),
  buildSeconds: z.number(),
})
export type Ready = z.infer<typeof readySchema>

export const searchedSchema = z.strictObject({
  answered: z.number(),
  failure: z.string().optional(),
  elapsedMs: z.number(),
  cpuMs: z.number(),
})
export type Searched = z.infer<typeof searchedSchema>
