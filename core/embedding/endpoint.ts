import type { IncomingMessage } from 'node:http'
import OpenAI, { APIError } from 'openai'
import { z } from 'zod'
import { BOUNDS } from '#core/platform/bounds.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { replyText } from '#core/platform/reply-text.ts'
import { decodedBody, post } from './http-post.ts'
import { retryAfterMs } from './retry-after.ts'

export interface EndpointAddress {
  /** Undefined: the endpoint of OpenAI. */
  readonly baseUrl: string | undefined
  /** Undefined: no key is sent. */
  readonly apiKey: string | undefined
}

export interface EndpointRequest {
  readonly model: string
  readonly input: readonly string[]
  readonly dimensions?: number
  readonly encoding_format?: 'base64'
}

export type RepliedVector = z.infer<typeof vectorSchema>
export interface EndpointReply {
  readonly data: readonly RepliedVector[]
  /** Tokens of the request; null if the endpoint reports none. */
  readonly tokens: number | null
}

/** One request failed. The message never contains what was sent or what the endpoint wrote. */
export class EndpointFailure extends Error {
  override readonly name = 'EndpointFailure'
  /** Of HTTP; undefined where there was no reply. */
  readonly status: number | undefined
  /** A repetition may succeed. */
  readonly transient: boolean
  /** Time after which the endpoint accepts requests again, as it states. */
  readonly retryAfterMs: number | undefined

  constructor(message: string, about: Partial<Pick<EndpointFailure, 'status' | 'transient' | 'retryAfterMs'>> = {}) {
    super(message)
    this.status = about.status
    this.transient = about.transient ?? false
    this.retryAfterMs = about.retryAfterMs
  }
}

export interface Endpoint {
  /** Sends one request, once. @throws EndpointFailure */
  embed(request: EndpointRequest, timeoutMs: number, signal: AbortSignal): Promise<EndpointReply>
}

const OPENAI_BASE_URL = 'https://api.openai.com/v1'

/** Values are checked with the vector, which costs less than a schema of each. */
const vectorSchema = z.object({ index: z.int(), embedding: z.union([z.string(), z.array(z.unknown())]) })
const replySchema = z.object({
  data: z.array(vectorSchema),
  usage: z.object({ prompt_tokens: z.int().nonnegative() }).nullable().catch(null),
})

/**
 * An OpenAI-compatible endpoint. Retries are left to the caller, who knows how long it may wait. A redirection is not
 * followed, so key and texts reach the configured address only, and a reply is read up to a bound.
 */
export function createEndpoint(address: EndpointAddress): Endpoint {
  const client = createClient(address)
  return {
    async embed(request, timeoutMs, signal) {
      // The time-out of the library is of whole milliseconds, and ends with the headers of the reply.
      const ending = new AbortController()
      const end = (): void => ending.abort()
      const timer = setTimeout(end, timeoutMs)
      if (signal.aborted) end()
      signal.addEventListener('abort', end, { once: true })
      try {
        // Not `client.embeddings.create`, which asks for base64 even of an endpoint that refuses it.
        const reply = await client.post('/embeddings', { body: request, signal: ending.signal }).asResponse()
        if (!(reply instanceof UnreadReply)) throw new TypeError('the reply is not of this endpoint')
        return await vectorsOf(reply.incoming, request)
      } catch (error) {
        if (signal.aborted) throw new EndpointFailure('the embedding was aborted')
        if (error instanceof EndpointFailure) throw error
        if (isApiError(error) && error.status !== undefined) throw refusalOf(error, error.status, Date.now())
        const why = ending.signal.aborted
          ? `did not answer within ${Math.ceil(timeoutMs / 1_000)} s`
          : 'could not be reached'
        throw new EndpointFailure(`the embedding provider ${why}`, { transient: true })
      } finally {
        clearTimeout(timer)
        signal.removeEventListener('abort', end)
      }
    },
  }
}

/** Every option that the library would else read from the environment is given. */
function createClient({ baseUrl = OPENAI_BASE_URL, apiKey }: EndpointAddress): OpenAI {
  const headers = {
    accept: 'application/json',
    'content-type': 'application/json',
    ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
  }
  try {
    return new EmbeddingsClient(headers, {
      // The library demands a key; a server without keys is sent none.
      apiKey: apiKey ?? 'none',
      adminAPIKey: null,
      organization: null,
      project: null,
      webhookSecret: null,
      baseURL: baseUrl.replace(/\/+$/, ''),
      maxRetries: 0,
      logLevel: 'off',
    })
  } catch {
    // The one variable that no option replaces. Its headers are not sent, but the library parses them.
    throw new OperatorError('OPENAI_CUSTOM_HEADERS holds a header that is not valid: unset it; it is not used.')
  }
}

type BuiltRequest = Awaited<ReturnType<OpenAI['buildRequest']>>

/**
 * Replaces the library's builder and its `fetch`, which take most of its time. The builder adds headers of the
 * environment and its own, and none of them is sent.
 */
class EmbeddingsClient extends OpenAI {
  private readonly sent: Readonly<Record<string, string>>

  constructor(sent: Readonly<Record<string, string>>, options: ConstructorParameters<typeof OpenAI>[0]) {
    super(options)
    this.sent = sent
  }

  override async buildRequest({ path, body, signal }: Parameters<OpenAI['buildRequest']>[0]): Promise<BuiltRequest> {
    const req = { headers: new Headers(), body: JSON.stringify(body), signal: signal ?? null }
    return { req, url: this.baseURL + path, timeout: this.timeout }
  }

  /** The caller's signal ends the request. A refusal that is too long has no body. */
  override async fetchWithTimeout(url: unknown, request?: RequestInit): Promise<Response> {
    const { body, signal } = request ?? {}
    if (typeof url !== 'string' || typeof body !== 'string' || !(signal instanceof AbortSignal))
      throw new TypeError('a request has an address, a text and a signal')
    const reply = await post(url, { headers: this.sent, body, signal })
    const status = reply.statusCode ?? 0
    if (status >= 200 && status < 300) return new UnreadReply(reply, status)
    const text = await replyText(decodedBody(reply), BOUNDS.embedRefusalBytesMax).catch(() => undefined)
    // Some statuses allow no body, not even an empty one.
    return new Response(text === '' ? null : text, { status, headers: headersOf(reply) })
  }
}

/** The reply to a request that was not refused; its body is read from the connection, and not through the library. */
class UnreadReply extends Response {
  readonly incoming: IncomingMessage

  constructor(incoming: IncomingMessage, status: number) {
    super(null, { status })
    this.incoming = incoming
  }
}

function headersOf({ headersDistinct }: IncomingMessage): Headers {
  const headers = new Headers()
  for (const [name, values = []] of Object.entries(headersDistinct))
    for (const value of values) headers.append(name, value)
  return headers
}

async function vectorsOf(reply: IncomingMessage, { input }: EndpointRequest): Promise<EndpointReply> {
  const text = await replyText(decodedBody(reply), (input.length + 1) * BOUNDS.embedReplyBytesPerTextMax)
  if (text === undefined) throw new EndpointFailure('the embedding provider sent a reply that is too long')
  const json = jsonOf(text)
  if (json === undefined) throw new EndpointFailure('the embedding provider sent a reply that is not JSON')
  const parsed = replySchema.safeParse(json)
  if (!parsed.success) throw new EndpointFailure('the embedding provider sent a reply that has no vectors')
  return { data: parsed.data.data, tokens: plausibleTokens(parsed.data.usage?.prompt_tokens, input) }
}

/** A token is at least one byte. More tokens than that, and some a text for the model's own, are as if none were. */
function plausibleTokens(tokens: number | undefined, input: readonly string[]): number | null {
  const tokensMax = input.reduce((sum, text) => sum + Buffer.byteLength(text) + BOUNDS.embedExtraTokensMax, 0)
  return tokens === undefined || tokens > tokensMax ? null : tokens
}

/** The class by itself has fields of any type. */
function isApiError(error: unknown): error is APIError {
  return error instanceof APIError
}

function refusalOf({ code, type, headers }: APIError, status: number, nowMs: number): EndpointFailure {
  return new EndpointFailure(`the embedding provider answered with status ${status}${reasonOf([code, type])}`, {
    status,
    transient: (status === 429 && code !== 'insufficient_quota') || status === 408 || status >= 500,
    retryAfterMs: retryAfterMs(headers, nowMs),
  })
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Code and type as the endpoint states them, if they are identifiers: anything else may repeat what was sent. */
function reasonOf(stated: readonly unknown[]): string {
  const named = stated.filter((text) => typeof text === 'string' && /^[a-z_]{1,60}$/i.test(text))
  return named.length === 0 ? '' : ` (${[...new Set(named)].join(', ')})`
}
