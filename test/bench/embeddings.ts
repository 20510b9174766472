import { z } from 'zod'

const REQUEST_TIMEOUT_MS = 300_000

const replySchema = z.object({
  data: z.array(z.object({ index: z.int(), embedding: z.array(z.number()) })),
  usage: z.object({ total_tokens: z.number() }),
})

/** Has an endpoint embed texts. @returns vectors in their order, and tokens. */
export async function embedded(baseUrl: string, model: string, input: readonly string[]) {
  const send = (): Promise<Response> =>
    fetch(`${baseUrl}/embeddings`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model, input, encoding_format: 'float' }),
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    })
  // A connection that the endpoint closed while it was idle fails once.
  const reply = await send().catch(send)
  if (!reply.ok) throw new Error(`${baseUrl} answered ${reply.status}: check that it serves the model ${model}.`)
  const { data, usage } = replySchema.parse(await reply.json())
  const vectors = data.toSorted((a, b) => a.index - b.index).map(({ embedding }) => Float32Array.from(embedding))
  return { vectors, tokens: usage.total_tokens }
}
