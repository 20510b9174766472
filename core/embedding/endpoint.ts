import { pipeline } from 'node:stream'
import type { Readable } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { Agent, request as send } from 'undici'
import type { Dispatcher } from 'undici'
import { z } from 'zod'
import { BOUNDS } from '#core/platform/bounds.ts'
import { replyText } from '#core/platform/reply-text.ts'
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

/** Of a refusal. OpenAI puts both into `error`; other members are not read, because they may repeat what was sent. */
const refusalSchema = z.object({ error: z.object({ code: z.unknown(), type: z.unknown() }).partial() })

/**
 * An OpenAI-compatible endpoint. Retries are left to the caller, who knows how long it may wait. A redirection is not
 * followed, so key and texts reach the configured address only, and a reply is read up to a bound. Nothing is read from
 * the environment.
 */
export function createEndpoint({ baseUrl = OPENAI_BASE_URL, apiKey }: EndpointAddress): Endpoint {
  const url = `${baseUrl.replace(/\/+$/, '')}/embeddings`
  const headers = {
    accept: 'application/json',
    'content-type': 'application/json',
    ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
  }
  // Each attempt has a deadline of its own, which covers the whole reply.
  const dispatcher = new Agent({ headersTimeout: 0, bodyTimeout: 0, allowH2: false })
  return {
    async embed(request, timeoutMs, signal) {
      const ending = new AbortController()
      const end = (): void => ending.abort()
      const timer = setTimeout(end, timeoutMs)
      if (signal.aborted) end()
      signal.addEventListener('abort', end, { once: true })
      try {
        const body = JSON.stringify(request)
        const reply = await send(url, { method: 'POST', headers, body, dispatcher, signal: ending.signal })
        if (reply.statusCode < 200 || reply.statusCode > 299) throw await refusalOf(reply, Date.now())
        return await vectorsOf(reply, request)
      } catch (error) {
        if (signal.aborted) throw new EndpointFailure('the embedding was aborted')
        if (error instanceof EndpointFailure) throw error
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

type Reply = Pick<Dispatcher.ResponseData, 'statusCode' | 'headers' | 'body'>

/** No encoding is asked for. Some servers compress all the same. */
function decoded({ headers, body }: Reply): { readonly body: Readable } {
  switch (headers['content-encoding']) {
    case 'gzip':
      return { body: pipeline(body, createGunzip(), () => undefined) }
    case 'deflate':
      return { body: pipeline(body, createInflate(), () => undefined) }
    case 'br':
      return { body: pipeline(body, createBrotliDecompress(), () => undefined) }
    default:
      return { body }
  }
}

async function vectorsOf(reply: Reply, { input }: EndpointRequest): Promise<EndpointReply> {
  const text = await replyText(decoded(reply), (input.length + 1) * BOUNDS.embedReplyBytesPerTextMax)
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

/** A refusal that is too long, breaks off or is no JSON is told by its status. */
async function refusalOf(reply: Reply, nowMs: number): Promise<EndpointFailure> {
  const { statusCode: status, headers } = reply
  const text = await replyText(decoded(reply), BOUNDS.embedRefusalBytesMax).catch(() => undefined)
  const stated = refusalSchema.safeParse(jsonOf(text ?? ''))
  const { code, type } = stated.success ? stated.data.error : {}
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
