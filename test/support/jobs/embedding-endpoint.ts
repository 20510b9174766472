import type { IncomingMessage, ServerResponse } from 'node:http'
import { z } from 'zod'
import { createLocalEmbedder } from '#core/embedding/local/embedder.ts'
import { bodyOf, send, startJsonServer } from '#test/support/json-server.ts'

const requestSchema = z.object({ model: z.string(), input: z.array(z.string()).min(1) })

export interface EmbeddingRequest {
  readonly model: string
  readonly texts: readonly string[]
  readonly authorization: string | undefined
}

/** Decides on a request: undefined answers it, a status refuses it. Requests wait for the promise. */
type Gate = (request: EmbeddingRequest) => Promise<number | undefined>

/** An OpenAI-compatible embeddings endpoint that keeps what it was sent. Its vectors are the local embedder's. */
export interface EmbeddingEndpoint {
  readonly baseUrl: string
  /** In the order of their arrival. */
  readonly requests: EmbeddingRequest[]
  /** The most requests that were under way at once. */
  mostAtOnce: number
  gate: Gate
  /** Other weights: the vector of a text is that of the text behind it. */
  weights: string
  /** Texts sent, but for those of requests that only learn about the endpoint. */
  passages(): readonly string[]
  stop(): Promise<void>
}

/** What clients send to learn about an endpoint: one word. */
const isProbe = (text: string): boolean => !text.includes('\n') && text.split(' ').length < 4

export async function startEmbeddingEndpoint(): Promise<EmbeddingEndpoint> {
  const embedder = createLocalEmbedder()
  let underWay = 0

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { model, input } = requestSchema.parse(await bodyOf(request))
    const asked = { model, texts: input, authorization: request.headers.authorization }
    endpoint.requests.push(asked)
    endpoint.mostAtOnce = Math.max(endpoint.mostAtOnce, ++underWay)
    const status = await endpoint.gate(asked).finally(() => underWay--)
    if (status !== undefined) return send(response, status, { error: { message: `refused: ${input.join()}` } })
    const weighted = input.map((text) => endpoint.weights + text)
    const { vectors } = await embedder.embed(weighted, 'passage', new AbortController().signal)
    send(response, 200, {
      object: 'list',
      model,
      data: vectors.map((vector, index) => ({ object: 'embedding', index, embedding: [...vector] })),
      usage: { prompt_tokens: 10 * input.length, total_tokens: 10 * input.length },
    })
  }

  const server = await startJsonServer((request, response) => {
    response.on('error', () => undefined)
    answer(request, response).catch(() => response.destroy())
  })
  const endpoint: EmbeddingEndpoint = {
    ...server,
    requests: [],
    mostAtOnce: 0,
    gate: () => Promise.resolve(undefined),
    weights: '',
    passages: () => endpoint.requests.flatMap(({ texts }) => texts).filter((text) => !isProbe(text)),
  }
  return endpoint
}
