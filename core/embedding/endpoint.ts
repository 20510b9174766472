import OpenAI, { APIError } from 'openai'
import { z } from 'zod'
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

/** Values are checked with the vector, which costs less than a schema of each. */
const vectorSchema = z.object({ index: z.int(), embedding: z.union([z.string(), z.array(z.unknown())]) })
const replySchema = z.object({
  data: z.array(vectorSchema),
  usage: z.object({ prompt_tokens: z.int().nonnegative() }).nullable().catch(null),
})

/** An OpenAI-compatible endpoint. Retries are left to the caller, who knows how long it may wait. */
export function createEndpoint({ baseUrl, apiKey }: EndpointAddress): Endpoint {
  const client = new OpenAI({
    apiKey: apiKey ?? 'none',
    // The library demands a key; a server without keys is sent none.
    ...(apiKey === undefined ? { defaultHeaders: { authorization: null } } : {}),
    ...(baseUrl === undefined ? {} : { baseURL: baseUrl }),
    maxRetries: 0,
    logLevel: 'off',
  })
  return {
    async embed(request, timeoutMs, signal) {
      // The time-out of the library ends with the headers of the reply.
      const ending = new AbortController()
      const end = (): void => ending.abort()
      const timer = setTimeout(end, timeoutMs)
      if (signal.aborted) end()
      signal.addEventListener('abort', end, { once: true })
      try {
        // Not `client.embeddings.create`, which asks for base64 even of an endpoint that refuses it.
        return replyOf(await client.post('/embeddings', { body: request, signal: ending.signal }))
      } catch (error) {
        if (signal.aborted) throw new EndpointFailure('the embedding was aborted')
        throw failureOf(error, Date.now())
      } finally {
        clearTimeout(timer)
        signal.removeEventListener('abort', end)
      }
    },
  }
}

function replyOf(body: unknown): EndpointReply {
  const parsed = replySchema.safeParse(body)
  if (!parsed.success) throw new EndpointFailure('the embedding provider sent a reply that has no vectors')
  return { data: parsed.data.data, tokens: parsed.data.usage?.prompt_tokens ?? null }
}

function failureOf(error: unknown, nowMs: number): EndpointFailure {
  if (error instanceof EndpointFailure) return error
  if (error instanceof SyntaxError) return new EndpointFailure('the embedding provider sent a reply that is not JSON')
  if (!isApiError(error) || error.status === undefined)
    return new EndpointFailure('the embedding provider could not be reached in time', { transient: true })
  const { status } = error
  const reason = reasonOf(error)
  return new EndpointFailure(`the embedding provider answered with status ${status}${reason}`, {
    status,
    transient: (status === 429 && error.code !== 'insufficient_quota') || status === 408 || status >= 500,
    retryAfterMs: retryAfterMs(error.headers, nowMs),
  })
}

/** The class by itself has fields of any type. */
function isApiError(error: unknown): error is APIError {
  return error instanceof APIError
}

/** Code and type as the endpoint states them, if they are identifiers: anything else may repeat what was sent. */
function reasonOf({ code, type }: APIError): string {
  const named = [code, type].filter((text) => typeof text === 'string' && /^[a-z_]{1,60}$/i.test(text))
  return named.length === 0 ? '' : ` (${[...new Set(named)].join(', ')})`
}
