import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'
import { z } from 'zod'
import { PROBES } from '#core/embedding/probes.ts'
import { bodyOf, send, startJsonServer } from './json-server.ts'
import { wordVector } from './word-vectors.ts'

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
  /** Its list of models; undefined: it has none, as many endpoints. */
  models: readonly object[] | undefined
  /** Usage is left out. */
  silentUsage: boolean
  /**
   * Decides on a request: undefined answers it, a status refuses it. Requests wait for the promise. The other promise
   * resolves when the caller hangs up before the reply.
   */
  gate: (request: SeenRequest, hungUp: Promise<void>) => Promise<number | undefined>
  vectorsOf: (texts: readonly string[], dimensions: number | undefined) => Promise<readonly Float32Array<ArrayBuffer>[]>
  /** Sends something in place of the reply whose vectors are lists of numbers; undefined: the reply is sent. */
  misreply: ((good: EmbeddingReply, request: SeenRequest, response: ServerResponse) => void) | undefined
}

export interface EmbeddingReply {
  readonly object: string
  readonly data: readonly { readonly object: string; readonly index: number; readonly embedding: readonly number[] }[]
  readonly model: string
  readonly usage?: { readonly prompt_tokens: number; readonly total_tokens: number }
}

/**
 * Vectors that rank passages as their words do.
 * @param weights of another model: the vector of a text is that of the text behind them.
 */
export function vectorsByWords(weights = ''): Pick<EndpointBehaviour, 'vectorsOf'> {
  return { vectorsOf: (texts) => Promise.resolve(texts.map((text) => wordVector(weights + text))) }
}

const requestSchema = z.strictObject({
  model: z.string(),
  input: z.array(z.string()).min(1),
  dimensions: z.int().optional(),
  encoding_format: z.enum(['base64', 'float']).optional(),
})
/** One request as it came in, refused or not. */
export type SeenRequest = z.infer<typeof requestSchema> & {
  readonly authorization: string | undefined
  readonly traceparent?: unknown
}

/** How often an endpoint, also one of another process, was asked for texts that contain `part`. */
export async function callsFor(baseUrl: string, part: string): Promise<number> {
  const response = await fetch(`${baseUrl}/calls?part=${encodeURIComponent(part)}`, {})
  return z.object({ calls: z.number() }).parse(await response.json()).calls
}

export type EmbeddingEndpoint = Awaited<ReturnType<typeof startEmbeddingEndpoint>>

export const ENDPOINT_DIMENSIONS = 8

/**
 * An OpenAI-compatible embeddings endpoint over real HTTP, whose `baseUrl` is for OPENAI_BASE_URL. Its model has 8
 * dimensions unless `vectorsOf` says else.
 */
export async function startEmbeddingEndpoint(change: Partial<EndpointBehaviour> = {}) {
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
    models: undefined,
    silentUsage: false,
    gate: () => Promise.resolve(undefined),
    vectorsOf: (texts, dimensions) => Promise.resolve(texts.map((text) => vectorFor(text, dimensions))),
    misreply: undefined,
    ...change,
  }
  const requests: SeenRequest[] = []
  let underWay = 0
  let mostAtOnce = 0

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { authorization, traceparent } = request.headers
    const seen = { ...requestSchema.parse(await bodyOf(request)), authorization, traceparent }
    requests.push(seen)
    mostAtOnce = Math.max(mostAtOnce, ++underWay)
    const hungUp = new Promise<void>((resolve) => response.once('close', resolve))
    const status = await behaviour.gate(seen, hungUp).finally(() => underWay--)
    const refused = status === undefined ? refusalOf(seen, behaviour) : { status }
    if (refused === undefined) {
      const reply = await replyTo(seen, behaviour)
      if (behaviour.misreply !== undefined) return behaviour.misreply(reply, seen, response)
      return send(response, 200, seen.encoding_format === 'base64' ? encoded(reply) : reply)
    }
    for (const [name, value] of Object.entries(refused.headers ?? {})) response.setHeader(name, value)
    // A real endpoint may repeat the texts in its message.
    send(response, refused.status, { error: { message: `refused: ${seen.input.join()}`, code: refused.code } })
  }

  const server = await startJsonServer((request, response) => {
    response.on('error', () => undefined)
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://provider')
    if (pathname === '/v1/models') {
      const { models: data } = behaviour
      return data === undefined ? send(response, 404, {}) : send(response, 200, { object: 'list', data })
    }
    if (pathname === '/v1/calls') {
      const part = searchParams.get('part') ?? ''
      return send(response, 200, {
        calls: requests.filter(({ input }) => input.some((text) => text.includes(part))).length,
      })
    }
    answer(request, response).catch((error: unknown) => send(response, 500, { error: { message: String(error) } }))
  })
  return {
    ...server,
    behaviour,
    /** In the order of their arrival. */
    requests,
    /** The most requests that were under way at once. */
    get mostAtOnce() {
      return mostAtOnce
    },
    /** Texts sent, but for those of requests that only learn about the endpoint. */
    passages: () => requests.flatMap(({ input }) => input).filter((text) => !isProbe(text)),
  }
}

/** What clients send to learn about an endpoint: at most three words, or a probe of a version behind its prefix. */
const isProbe = (text: string): boolean =>
  (!text.includes('\n') && text.split(' ').length < 4) || PROBES.some((probe) => text.endsWith(probe))

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

async function replyTo(seen: SeenRequest, behaviour: EndpointBehaviour): Promise<EmbeddingReply> {
  const { model, input, dimensions } = seen
  const vectors = await behaviour.vectorsOf(input, dimensions)
  const data = input.map((text, index) => {
    const vector = [...(vectors[index] ?? [])]
    return { object: 'embedding', index, embedding: behaviour.shortensVectorOf(text) ? vector.slice(1) : vector }
  })
  const tokens = input.reduce((sum, text) => sum + behaviour.tokensOf(text), 0)
  const usage = { prompt_tokens: tokens, total_tokens: tokens }
  return { object: 'list', model, data, ...(behaviour.silentUsage ? {} : { usage }) }
}

/** The reply with vectors in base64. */
function encoded(reply: EmbeddingReply): object {
  const data = reply.data.map((row) => ({
    ...row,
    embedding: Buffer.from(Float32Array.from(row.embedding).buffer).toString('base64'),
  }))
  return { ...reply, data }
}

/** The vector that the endpoint sends for a text; not of unit length. */
export function vectorFor(text: string, dimensions: number = ENDPOINT_DIMENSIONS): Float32Array<ArrayBuffer> {
  const digest = createHash('sha256').update(text).digest()
  return Float32Array.from({ length: dimensions }, (_, at) => (digest[at % digest.length] ?? 0) + 1)
}

/** One held call: it has come in and is answered when the test says so. */
export interface HeldCall {
  readonly arrived: Promise<void>
  /** The other side closed the connection before it was answered. */
  readonly hungUp: Promise<void>
  release(): void
}

/** Waits for a held call. @throws Error once the request that makes it is over without it, as where it is refused. */
export async function arrivalOf({ arrived }: HeldCall, request: Promise<unknown>): Promise<void> {
  const over = request.then((reply): never => {
    throw new Error(`the request was over before its call came in: ${inspect(reply)}`)
  })
  over.catch(() => undefined)
  await Promise.race([arrived, over])
}

export type TestProvider = Awaited<ReturnType<typeof startTestProvider>>

interface Hold {
  readonly query: string
  readonly arrive: () => void
  readonly hangUp: () => void
  readonly released: Promise<void>
}

/** An endpoint with vectors by words. It can be slow, fail and hold single calls. */
export async function startTestProvider() {
  const holds = new Set<Hold>()
  const vectors = new Map<string, Float32Array<ArrayBuffer>>()
  /** Of queries; batches of a build are neither slowed down nor refused. */
  const behaviour = { delayMs: 0, failing: false }
  async function delayQuery(text: string, hungUp: Promise<void>): Promise<void> {
    const hold = [...holds].findLast(({ query }) => query === text)
    if (hold === undefined) return await sleep(behaviour.delayMs)
    hold.arrive()
    void hungUp.then(hold.hangUp)
    await hold.released
  }
  function vectorOf(text: string): Float32Array<ArrayBuffer> {
    const vector = vectors.get(text) ?? wordVector(text)
    vectors.set(text, vector)
    return vector
  }
  const endpoint = await startEmbeddingEndpoint({
    vectorsOf: (texts) => Promise.resolve(texts.map(vectorOf)),
    tokensOf: () => 1,
    gate: async ({ input: [text = '', ...others] }, hungUp) => {
      if (others.length > 0) return undefined
      await delayQuery(text, hungUp)
      return behaviour.failing ? 400 : undefined
    },
  })
  return {
    behaviour,
    requests: endpoint.requests,
    /** For every process of the service. */
    environment: { OPENAI_BASE_URL: endpoint.baseUrl, OPENAI_API_KEY: 'test', OPENAI_TIMEOUT_MS: '9000' },
    /**
     * Holds the call for exactly this text. A query that differs in trailing spaces has the same vector and can be held
     * apart.
     */
    hold(query: string): HeldCall {
      const arrived = Promise.withResolvers<void>()
      const hungUp = Promise.withResolvers<void>()
      const released = Promise.withResolvers<void>()
      const hold: Hold = { query, arrive: arrived.resolve, hangUp: hungUp.resolve, released: released.promise }
      holds.add(hold)
      const release = (): void => {
        holds.delete(hold)
        released.resolve()
      }
      return { arrived: arrived.promise, hungUp: hungUp.promise, release }
    },
    stop: endpoint.stop,
  }
}
