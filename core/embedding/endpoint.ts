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
const refusalSchema = z.object({
  error: z.object({ code: z.string().nullish().catch(null), type: z.string().nullish().catch(null) }),
})

/**
 * An OpenAI-compatible endpoint. Retries are left to the caller, who knows how long it may wait. A redirection is not
 * followed, so key and texts reach the configured address only, and a reply is read up to a bound.
 */
export function createEndpoint({ baseUrl = OPENAI_BASE_URL, apiKey }: EndpointAddress): Endpoint {
  const url = `${baseUrl.replace(/\/+$/, '')}/embeddings`
  const headers = {
    accept: 'application/json',
    'content-type': 'application/json',
    ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
  }
  return {
    async embed(request, timeoutMs, signal) {
      const ending = new AbortController()
      const end = (): void => ending.abort()
      const timer = setTimeout(end, timeoutMs)
      if (signal.aborted) end()
      signal.addEventListener('abort', end, { once: true })
      try {
        const body = JSON.stringify(request)
        const reply = await fetch(url, { method: 'POST', headers, body, redirect: 'manual', signal: ending.signal })
        if (!reply.ok) throw await refusalOf(reply, Date.now())
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

async function vectorsOf(reply: Response, { input }: EndpointRequest): Promise<EndpointReply> {
  const text = await replyText(reply, (input.length + 1) * BOUNDS.embedReplyBytesPerTextMax)
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

async function refusalOf(reply: Response, nowMs: number): Promise<EndpointFailure> {
  const text = await replyText(reply, BOUNDS.embedRefusalBytesMax).catch(() => undefined)
  const { code, type } = refusalSchema.safeParse(jsonOf(text ?? '')).data?.error ?? {}
  const { status, headers } = reply
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
function reasonOf(stated: readonly (string | null | undefined)[]): string {
  const named = stated.filter((text) => /^[a-z_]{1,60}$/i.test(text ?? ''))
  return named.length === 0 ? '' : ` (${[...new Set(named)].join(', ')})`
}
