import http, { type IncomingMessage } from 'node:http'
import https from 'node:https'
import { pipeline } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { z } from 'zod'
import { PLATFORM_BOUNDS } from './bounds.ts'
import { createBreaker, type BreakerBounds } from './circuit-breaker.ts'
import { parsedJson } from './json.ts'
import { traced } from './tracing.ts'
import { timeLimit } from './with-timeout.ts'

export interface EndpointAddress {
  /** What messages call it, e.g. `the re-ranker`. */
  readonly name: string
  readonly baseUrl: string
  /** Undefined: no key is sent. */
  readonly apiKey: string | undefined
}

export interface ChatRequest {
  readonly model: string
  readonly messages: readonly { readonly role: 'system' | 'user'; readonly content: string }[]
  readonly temperature?: number
  /** Not every server takes the successor of `max_tokens`, which OpenAI deprecates. */
  readonly max_tokens?: number
  readonly max_completion_tokens?: number
  readonly response_format: { readonly type: 'json_schema'; readonly json_schema: object }
}

export interface CallBounds {
  readonly timeoutMs: number
  readonly replyBytesMax: number
  readonly signal: AbortSignal
}

/** One request failed. The message never contains what was sent or what the endpoint wrote. */
export class EndpointFailure extends Error {
  override readonly name = 'EndpointFailure'
  /** HTTP status of a refusal; undefined where there was no reply, or none that can be used. */
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

/** A model failed, was too slow, or sent nothing usable. The error contains nothing of what it was asked or wrote. */
export class ModelError extends Error {
  override readonly name: string = 'ModelError'
  /** Tokens of a reply that cannot be used. */
  readonly tokens: number | null
  /** Time after which the endpoint accepts requests again, as it states. */
  readonly retryAfterMs: number | undefined

  constructor(message: string, tokens: number | null = null, waitMs?: number) {
    super(message)
    this.tokens = tokens
    this.retryAfterMs = waitMs
  }
}

/**
 * Calls a model whose endpoint is left alone once it failed several times in a row. A caller that hangs up says nothing
 * about the endpoint.
 * @param Failed the error of a call that the endpoint fails, or that is not made.
 */
export function guardedModel(name: string, Failed: typeof ModelError, bounds: BreakerBounds, nowMs?: () => number) {
  const breaker = createBreaker(bounds, nowMs)
  return async <T>(signal: AbortSignal, call: () => Promise<T>): Promise<T> => {
    if (breaker.isOpen()) throw new Failed(`${name} is left alone, because it failed several times in a row`)
    return breaker
      .watch(call, () => !signal.aborted)
      .catch((error: unknown) => {
        throw error instanceof EndpointFailure ? new Failed(error.message, null, error.retryAfterMs) : error
      })
  }
}

const usageSchema = z.object({ usage: z.object({ total_tokens: z.int().nonnegative() }) })

/** Tokens of request and reply as the endpoint states them; null if it states none. */
export function tokensIn(reply: unknown): number | null {
  return usageSchema.safeParse(reply).data?.usage.total_tokens ?? null
}

/**
 * Sends one request, and returns the JSON of the reply; a GET without a body. It is sent once more, on a new connection,
 * where one that was kept has ended before a byte of the reply. @throws EndpointFailure
 */
export async function askJson(
  address: EndpointAddress,
  path: string,
  bounds: CallBounds,
  body?: object,
): Promise<unknown> {
  const text = await askText(address, path, bounds, body === undefined ? undefined : JSON.stringify(body), true)
  const reply = parsedJson(text)
  if (reply === undefined) throw new EndpointFailure(`${address.name} sent a reply that is not JSON`)
  return reply
}

export const JSON_HEADERS = { accept: 'application/json', 'content-type': 'application/json' }

function exchange(
  url: URL,
  options: https.RequestOptions,
  body: string | undefined,
  resends: boolean,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = (url.protocol === 'https:' ? https : http).request(url, options)
    let readBefore = 0
    request.once('socket', (socket) => (readBefore = socket.bytesRead))
    request.once('response', resolve)
    request.on('error', (error) => {
      const isUnread = request.reusedSocket && request.socket?.bytesRead === readBefore
      if (resends && isUnread && error.name !== 'AbortError')
        resolve(exchange(url, { ...options, agent: false }, body, false))
      else reject(error)
    })
    request.end(body)
  })
}

/**
 * Sends JSON and returns the text of the reply. `fetch` takes twice the CPU time. No redirection is followed, so key and
 * texts reach this address only.
 * @param resends as `askJson`; embeddings are repeated by their caller. @throws EndpointFailure
 */
export async function askText(
  { name, baseUrl, apiKey }: EndpointAddress,
  path: string,
  { timeoutMs, replyBytesMax, signal: aborted }: CallBounds,
  body: string | undefined,
  resends = false,
): Promise<string> {
  const method = body === undefined ? 'GET' : 'POST'
  const headers = apiKey === undefined ? JSON_HEADERS : { ...JSON_HEADERS, authorization: `Bearer ${apiKey}` }
  using late = timeLimit(Math.ceil(timeoutMs))
  let text: string | undefined
  try {
    const url = new URL(baseUrl.replace(/\/+$/, '') + path)
    const attributes = {
      'http.request.method': method,
      'server.address': url.hostname,
      'server.port': Number(url.port) || undefined,
      'url.full': url.origin + url.pathname,
    }
    // No header continues the trace: the endpoint is another party.
    text = await traced(method, { kind: 'CLIENT', attributes }, async (span) => {
      const signal = AbortSignal.any([aborted, late.signal])
      const reply = await exchange(url, { method, headers, signal }, body, resends)
      const { statusCode = 0 } = reply
      span?.set({ 'http.response.status_code': statusCode })
      if (statusCode >= 200 && statusCode <= 299) return boundedText(reply, replyBytesMax)
      span?.fail(String(statusCode))
      throw await refusalOf(name, reply)
    })
  } catch (error) {
    if (error instanceof EndpointFailure) throw error
    if (aborted.aborted) throw new EndpointFailure(`the request to ${name} was aborted`)
    const why = late.signal.aborted ? `did not answer within ${Math.ceil(timeoutMs / 1_000)} s` : 'could not be reached'
    throw new EndpointFailure(`${name} ${why}`, { transient: true })
  }
  if (text === undefined) throw new EndpointFailure(`${name} sent a reply that is too long`)
  return text
}

/** Nothing is asked for in these codings; some servers send them all the same. */
const DECODERS = new Map([
  ['gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
])

/** @returns undefined for a body of more than `bytesMax`, whose rest is not read: its connection is closed. */
async function boundedText(reply: IncomingMessage, bytesMax: number): Promise<string | undefined> {
  const decoder = DECODERS.get(String(reply.headers['content-encoding']))
  const decoded: AsyncIterable<unknown> = decoder === undefined ? reply : pipeline(reply, decoder(), () => undefined)
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of decoded) {
    if (!(piece instanceof Uint8Array)) continue
    bytes += piece.length
    if (bytes > bytesMax) return undefined
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}

const statedSchema = z.object({ code: z.unknown().optional(), type: z.unknown().optional() })
const refusalSchema = z.union([z.object({ error: statedSchema }).transform(({ error }) => error), statedSchema])

/** A refusal that is too long or breaks off states nothing. */
async function refusalOf(name: string, reply: IncomingMessage): Promise<EndpointFailure> {
  const { statusCode: status = 0, headers } = reply
  const text = await boundedText(reply, PLATFORM_BOUNDS.refusalBytesMax).catch(() => undefined)
  const { code, type } = refusalSchema.safeParse(parsedJson(text ?? '')).data ?? {}
  return new EndpointFailure(`${name} answered with status ${status}${reasonOf([code, type])}`, {
    status,
    transient: (status === 429 && code !== 'insufficient_quota') || status === 408 || status >= 500,
    retryAfterMs: retryAfterMs(headers, Date.now()),
  })
}

/** Code and type as the endpoint states them, if they are identifiers: anything else may repeat what was sent. */
function reasonOf(stated: readonly unknown[]): string {
  const named = stated.filter((text) => typeof text === 'string' && /^[a-z_]{1,60}$/i.test(text))
  return named.length === 0 ? '' : ` (${[...new Set(named)].join(', ')})`
}

/**
 * Reads how long an endpoint wants its callers to wait: `retry-after-ms` of OpenAI, else `Retry-After` (RFC 9110,
 * 10.2.3) in seconds or as a date.
 * @returns milliseconds from now, at least 0; undefined if neither header is there and valid.
 */
export function retryAfterMs(headers: IncomingMessage['headers'], nowMs: number): number | undefined {
  const inMs = decimal(headers['retry-after-ms'])
  if (inMs !== undefined) return inMs
  const text = headers['retry-after']
  const seconds = decimal(text)
  if (seconds !== undefined) return seconds * 1_000
  // Other texts that `Date.parse` accepts are no dates of HTTP.
  const dateMs = typeof text === 'string' && /^[A-Z].* GMT$/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(dateMs) ? undefined : Math.max(0, dateMs - nowMs)
}

function decimal(text: string | string[] | undefined): number | undefined {
  return typeof text === 'string' && /^\s*\d{1,12}(?:\.\d{1,9})?\s*$/.test(text) ? Number(text) : undefined
}
