import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { z } from 'zod'
import { createLocalEmbedder } from '#core/embedding/local/embedder.ts'
import { bodyOf, send, startJsonServer } from './json-server.ts'

/** What the endpoint does other than answering; changed while it runs. */
export interface EndpointBehaviour {
  /** More texts in one request are refused with this status. */
  textsMax: number
  tooManyStatus: number
  /** A request with such a text is refused with 413, as Text Embeddings Inference does. */
  refuses: (text: string) => boolean
  refusesBase64: boolean
  refusesDimensions: boolean
  /** The vector of such a text has one dimension less. */
  shortensVectorOf: (text: string) => boolean
  /** Sent instead of the next replies, in this order. */
  failures: { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly code?: string }[]
  /** Demanded in each request; undefined: none is. */
  key: string | undefined
  tokensOf: (text: string) => number
  /** Usage is left out. */
  silentUsage: boolean
  /** Decides on a request: undefined answers it, a status refuses it. Requests wait for the promise. */
  gate: (request: SeenRequest) => Promise<number | undefined>
  vectorsOf: (texts: readonly string[], dimensions: number | undefined) => Promise<readonly Float32Array<ArrayBuffer>[]>
}

/**
 * The vectors of the local embedder, which rank passages as their words do.
 * @param weights of another model: the vector of a text is that of the text behind them.
 */
export function vectorsByWords(weights = ''): Pick<EndpointBehaviour, 'vectorsOf'> {
  const embedder = createLocalEmbedder()
  const { signal } = new AbortController()
  return {
    vectorsOf: async (texts) => {
      const weighted = texts.map((text) => weights + text)
      return (await embedder.embed(weighted, 'passage', signal)).vectors
    },
  }
}

const requestSchema = z.strictObject({
  model: z.string(),
  input: z.array(z.string()).min(1),
  dimensions: z.int().optional(),
  encoding_format: z.enum(['base64', 'float']).optional(),
})
/** One request as it came in, refused or not. */
export type SeenRequest = z.infer<typeof requestSchema> & { readonly authorization: string | undefined }

/** An OpenAI-compatible embeddings endpoint over real HTTP. Its model has 8 dimensions unless `vectorsOf` says else. */
export interface EmbeddingEndpoint {
  /** For OPENAI_BASE_URL. */
  readonly baseUrl: string
  readonly behaviour: EndpointBehaviour
  /** In the order of their arrival. */
  readonly requests: SeenRequest[]
  /** The most requests that were under way at once. */
  readonly mostAtOnce: number
  /** Texts sent, but for those of requests that only learn about the endpoint. */
  passages(): readonly string[]
  stop(): Promise<void>
}

export const ENDPOINT_DIMENSIONS = 8

export async function startEmbeddingEndpoint(change: Partial<EndpointBehaviour> = {}): Promise<EmbeddingEndpoint> {
  const behaviour: EndpointBehaviour = {
    textsMax: Number.POSITIVE_INFINITY,
    tooManyStatus: 422,
    refuses: () => false,
    refusesBase64: false,
    refusesDimensions: false,
    shortensVectorOf: () => false,
    failures: [],
    key: undefined,
    tokensOf: (text) => Math.ceil(text.length / 4),
    silentUsage: false,
    gate: () => Promise.resolve(undefined),
    vectorsOf: (texts, dimensions) => Promise.resolve(texts.map((text) => vectorFor(text, dimensions))),
    ...change,
  }
  const requests: SeenRequest[] = []
  let underWay = 0
  let mostAtOnce = 0

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const seen = { ...requestSchema.parse(await bodyOf(request)), authorization: request.headers.authorization }
    requests.push(seen)
    mostAtOnce = Math.max(mostAtOnce, ++underWay)
    const status = await behaviour.gate(seen).finally(() => underWay--)
    const refused = status === undefined ? refusalOf(seen, behaviour) : { status }
    if (refused === undefined) return send(response, 200, await replyTo(seen, behaviour))
    for (const [name, value] of Object.entries(refused.headers ?? {})) response.setHeader(name, value)
    // A real endpoint may repeat the texts in its message.
    send(response, refused.status, { error: { message: `refused: ${seen.input.join()}`, code: refused.code } })
  }

  const server = await startJsonServer((request, response) => {
    response.on('error', () => undefined)
    answer(request, response).catch((error: unknown) => send(response, 500, { error: { message: String(error) } }))
  })
  return {
    ...server,
    behaviour,
    requests,
    get mostAtOnce() {
      return mostAtOnce
    },
    passages: () => requests.flatMap(({ input }) => input).filter((text) => !isProbe(text)),
  }
}

/** What clients send to learn about an endpoint: at most three words. */
const isProbe = (text: string): boolean => !text.includes('\n') && text.split(' ').length < 4

function refusalOf(seen: SeenRequest, behaviour: EndpointBehaviour): EndpointBehaviour['failures'][number] | undefined {
  if (behaviour.key !== undefined && seen.authorization !== `Bearer ${behaviour.key}`)
    return { status: 401, code: 'invalid_api_key' }
  const failure = behaviour.failures.shift()
  if (failure !== undefined) return failure
  if (behaviour.refusesBase64 && seen.encoding_format !== undefined) return { status: 400, code: 'unknown_field' }
  if (behaviour.refusesDimensions && seen.dimensions !== undefined) return { status: 400, code: 'unknown_field' }
  if (seen.input.length > behaviour.textsMax) return { status: behaviour.tooManyStatus, code: 'batch_too_large' }
  return seen.input.some(behaviour.refuses) ? { status: 413, code: 'context_length_exceeded' } : undefined
}

async function replyTo(seen: SeenRequest, behaviour: EndpointBehaviour): Promise<object> {
  const { model, input, dimensions, encoding_format } = seen
  const vectors = await behaviour.vectorsOf(input, dimensions)
  const data = input.map((text, index) => {
    const whole = vectors[index] ?? new Float32Array()
    const vector = behaviour.shortensVectorOf(text) ? whole.slice(1) : whole
    const embedding = encoding_format === 'base64' ? Buffer.from(vector.buffer).toString('base64') : [...vector]
    return { object: 'embedding', index, embedding }
  })
  const tokens = input.reduce((sum, text) => sum + behaviour.tokensOf(text), 0)
  const usage = { prompt_tokens: tokens, total_tokens: tokens }
  return { object: 'list', model, data, ...(behaviour.silentUsage ? {} : { usage }) }
}

/** The vector that the endpoint sends for a text; not of unit length. */
export function vectorFor(text: string, dimensions: number = ENDPOINT_DIMENSIONS): Float32Array<ArrayBuffer> {
  const digest = createHash('sha256').update(text).digest()
  return Float32Array.from({ length: dimensions }, (_, at) => (digest[at % digest.length] ?? 0) + 1)
}
