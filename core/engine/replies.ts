import { z } from 'zod'
import { EngineError } from './client.ts'

export const shardsSchema = z.object({
  total: z.int(),
  successful: z.int(),
  skipped: z.int().optional(),
  failed: z.int(),
})

/** A reply of which nothing is used. */
export const anyReply = z.unknown()

/**
 * A search over a dead shard succeeds with the hits of the others, so the counts are compared.
 * @throws EngineError `unavailable` unless every shard answered in time.
 */
export function assertWhole(
  reply: { readonly timed_out: boolean; readonly _shards: z.infer<typeof shardsSchema> },
  shards: number,
): void {
  const { total, successful, failed } = reply._shards
  if (reply.timed_out || total !== shards || successful !== total || failed > 0)
    throw new EngineError('unavailable', `OpenSearch answered for ${successful} of ${shards} shards.`)
}
