import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { z } from 'zod'
import { bodyOf, send, startJsonServer } from './json-server.ts'

/** What the endpoint does other than answering; changed while it runs. */
export interface EndpointManners {
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
}

const requestSchema = z.strictObject({
  model: z.string(),
  input: z.array(z.string()).min(1),
  dimensions: z.int().optional(),
  encoding_format: z.enum(['base64', 'float']).optional(),
})
/** One request as it came in, refused or not. */
export type SeenRequest = z.infer<typeof requestSchema> & { readonly authorization: string | undefined }

/** An OpenAI-compatible embeddings endpoint over real HTTP, of a model with 8 dimensions. */
export interface EmbeddingEndpoint {
  /** For OPENAI_BASE_URL. */
  readonly baseUrl: string
  readonly manners: EndpointManners
  readonly requests: SeenRequest[]
  stop(): Promise<void>
}

export const ENDPOINT_DIMENSIONS = 8

export async function startEmbeddingEndpoint(change: Partial<EndpointManners> = {}): Promise<EmbeddingEndpoint> {
  const manners: EndpointManners = {
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
    ...change,
  }
  const requests: SeenRequest[] = []

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const seen = { ...requestSchema.parse(await bodyOf(request)), authorization: request.headers.authorization }
    requests.push(seen)
    const refused = refusalOf(seen, manners)
    if (refused === undefined) return send(response, 200, replyTo(seen, manners))
    for (const [name, value] of Object.entries(refused.headers ?? {})) response.setHeader(name, value)
    // A real endpoint may repeat the texts in its message.
    send(response, refused.status, { error: { message: `refused: ${seen.input.join()}`, code: refused.code } })
  }

  const server = await startJsonServer((request, response) => {
    answer(request, response).catch((error: unknown) => send(response, 500, { error: { message: String(error) } }))
  })
  return { ...server, manners, requests }
}

function refusalOf(seen: SeenRequest, manners: EndpointManners): EndpointManners['failures'][number] | undefined {
  if (manners.key !== undefined && seen.authorization !== `Bearer ${manners.key}`)
    return { status: 401, code: 'invalid_api_key' }
  const failure = manners.failures.shift()
  if (failure !== undefined) return failure
  if (manners.refusesBase64 && seen.encoding_format !== undefined) return { status: 400, code: 'unknown_field' }
  if (manners.refusesDimensions && seen.dimensions !== undefined) return { status: 400, code: 'unknown_field' }
  if (seen.input.length > manners.textsMax) return { status: manners.tooManyStatus, code: 'batch_too_large' }
  return seen.input.some(manners.refuses) ? { status: 413, code: 'context_length_exceeded' } : undefined
}

function replyTo({ model, input, dimensions, encoding_format }: SeenRequest, manners: EndpointManners): object {
  const data = input.map((text, index) => {
    const whole = vectorFor(text, dimensions ?? ENDPOINT_DIMENSIONS)
    const vector = manners.shortensVectorOf(text) ? whole.slice(1) : whole
    const embedding = encoding_format === 'base64' ? Buffer.from(vector.buffer).toString('base64') : [...vector]
    return { object: 'embedding', index, embedding }
  })
  const tokens = input.reduce((sum, text) => sum + manners.tokensOf(text), 0)
  const usage = { prompt_tokens: tokens, total_tokens: tokens }
  return { object: 'list', model, data, ...(manners.silentUsage ? {} : { usage }) }
}

/** The vector that the endpoint sends for a text; not of unit length. */
export function vectorFor(text: string, dimensions: number = ENDPOINT_DIMENSIONS): Float32Array<ArrayBuffer> {
  const digest = createHash('sha256').update(text).digest()
  return Float32Array.from({ length: dimensions }, (_, at) => (digest[at % digest.length] ?? 0) + 1)
}
