import { z } from 'zod'
import { modelDigestSchema, prefixSchema } from '#core/index/format/manifest.ts'
import type { JsonEndpoint } from '#core/platform/json-endpoint.ts'
import { EMBEDDING_BOUNDS } from './bounds.ts'

/** What an endpoint tells of a model; most endpoints tell no more than its name. A value that is not valid is none. */
const modelSchema = z.object({
  id: z.string().min(1),
  dimensions: z.int().positive().optional().catch(undefined),
  /** Tokens that the model reads at once. */
  max_tokens: z.int().positive().max(EMBEDDING_BOUNDS.embedTokensMax).optional().catch(undefined),
  digest: modelDigestSchema.optional().catch(undefined),
  /** Put before a text; each is written by the caller. */
  prompts: z.object({ query: prefixSchema, passage: prefixSchema }).optional().catch(undefined),
  /** A longer text is embedded in windows, to its end. */
  long_texts: z.literal('windows').optional().catch(undefined),
})
export type ServedModel = z.infer<typeof modelSchema>

const listSchema = z.object({ data: z.array(modelSchema).max(EMBEDDING_BOUNDS.servedModelsMax) })

/**
 * Asks an endpoint for its models, once.
 * @returns undefined where the reply is no list of models.
 * @throws EndpointFailure where it does not answer, or refuses.
 */
export async function readServedModels(
  endpoint: JsonEndpoint,
  signal: AbortSignal,
): Promise<readonly ServedModel[] | undefined> {
  const reply = await endpoint.models({
    timeoutMs: EMBEDDING_BOUNDS.servedModelsTimeoutMs,
    replyBytesMax: EMBEDDING_BOUNDS.servedModelsBytesMax,
    signal,
  })
  return listSchema.safeParse(reply).data?.data
}
