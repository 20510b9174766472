import type { APIError, OpenAI } from 'openai'
import { PLATFORM_BOUNDS } from './bounds.ts'
import { OperatorError } from './errors.ts'

export interface EndpointAddress {
  /** What messages call it, e.g. `the re-ranker`. */
  readonly name: string
  readonly baseUrl: string
  /** Undefined: no key is sent. */
  readonly apiKey: string | undefined
}

export interface JsonRequest {
  /** Appended to the base URL. */
  readonly path: string
  readonly body: object
  readonly timeoutMs: number
  readonly replyBytesMax: number
  readonly signal: AbortSignal
}

export interface JsonEndpoint {
  /** Sends one POST request, once. @throws EndpointFailure */
  post(request: JsonRequest): Promise<unknown>
  /** Sends one GET request, once. @throws EndpointFailure */
  get(request: Omit<JsonRequest, 'body'>): Promise<unknown>
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

/**
 * An HTTP endpoint with the conventions of OpenAI. The client of `openai` builds the requests and parses refusals.
 * Retries are left to the caller. A redirection is not followed, so key and texts reach the configured address only.
 */
export function createJsonEndpoint(address: EndpointAddress): JsonEndpoint {
  const { name } = address
  const library = openLibrary(address)
  // Each request reports what failed here.
  library.catch(() => undefined)
  const ask = async (
    { timeoutMs, replyBytesMax, signal }: Omit<JsonRequest, 'body'>,
    sent: (client: OpenAI, signal: AbortSignal) => Pick<ReturnType<OpenAI['get']>, 'asResponse'>,
  ): Promise<unknown> => {
    const { client, isApiError } = await library
    const timeout = AbortSignal.timeout(Math.ceil(timeoutMs))
    let text: string | undefined
    try {
      // `asResponse` leaves the body unread, so that it can be bounded.
      text = await boundedText(await sent(client, AbortSignal.any([signal, timeout])).asResponse(), replyBytesMax)
    } catch (error) {
      if (signal.aborted) throw new EndpointFailure(`the request to ${name} was aborted`)
      if (isApiError(error) && error.status !== undefined) throw refusalOf(name, error, error.status)
      const why = timeout.aborted ? `did not answer within ${Math.ceil(timeoutMs / 1_000)} s` : 'could not be reached'
      throw new EndpointFailure(`${name} ${why}`, { transient: true })
    }
    if (text === undefined) throw new EndpointFailure(`${name} sent a reply that is too long`)
    try {
      const json: unknown = JSON.parse(text)
      return json
    } catch {
      throw new EndpointFailure(`${name} sent a reply that is not JSON`)
    }
  }
  return {
    post: (request) => ask(request, (client, signal) => client.post(request.path, { body: request.body, signal })),
    get: (request) => ask(request, (client, signal) => client.get(request.path, { signal })),
  }
}

interface Library {
  readonly client: OpenAI
  /** The class by itself has fields of any type. */
  isApiError(error: unknown): error is APIError
}

/**
 * The library's 236 modules are loaded only where an endpoint is configured. Every option that the client would else
 * read from the environment is given.
 */
async function openLibrary({ baseUrl, apiKey }: EndpointAddress): Promise<Library> {
  const { APIError: LibraryError, OpenAI: LibraryClient } = await import('openai')
  const headers = {
    accept: 'application/json',
    'content-type': 'application/json',
    ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
  }
  try {
    const client = new LibraryClient({
      // The client demands a key; an endpoint without keys is sent none.
      apiKey: apiKey ?? 'none',
      adminAPIKey: null,
      organization: null,
      project: null,
      webhookSecret: null,
      baseURL: baseUrl.replace(/\/+$/, ''),
      maxRetries: 0,
      logLevel: 'off',
      fetch: async (url, init) => {
        // These headers replace those of the client, which describe this machine and repeat OPENAI_CUSTOM_HEADERS.
        const reply = await fetch(url, { ...init, headers, redirect: 'manual' })
        if (reply.ok) return reply
        // The client reads a refusal whole. A refusal that is too long has no body.
        const text = await boundedText(reply, PLATFORM_BOUNDS.refusalBytesMax).catch(() => undefined)
        return new Response(text === '' ? null : text, { status: reply.status, headers: reply.headers })
      },
    })
    return { client, isApiError: (error) => error instanceof LibraryError }
  } catch {
    // The client parses this one variable whatever its options are.
    throw new OperatorError('OPENAI_CUSTOM_HEADERS holds a header that is not valid: unset it; it is not used.')
  }
}

/** @returns undefined for a body of more than `bytesMax`, whose rest is not read: its connection is closed. */
async function boundedText({ body }: Response, bytesMax: number): Promise<string | undefined> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  const read: AsyncIterable<unknown> | readonly unknown[] = body ?? []
  for await (const piece of read) {
    if (!(piece instanceof Uint8Array)) continue
    bytes += piece.length
    if (bytes > bytesMax) return undefined
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}

function refusalOf(name: string, { code, type, headers }: APIError, status: number): EndpointFailure {
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
export function retryAfterMs(headers: Headers | undefined, nowMs: number): number | undefined {
  const inMs = decimal(headers?.get('retry-after-ms'))
  if (inMs !== undefined) return inMs
  const text = headers?.get('retry-after')
  const seconds = decimal(text)
  if (seconds !== undefined) return seconds * 1_000
  // Other texts that `Date.parse` accepts are no dates of HTTP.
  const dateMs = /^[A-Z].* GMT$/.test(text ?? '') ? Date.parse(text ?? '') : Number.NaN
  return Number.isNaN(dateMs) ? undefined : Math.max(0, dateMs - nowMs)
}

function decimal(text: string | null | undefined): number | undefined {
  return /^\s*\d{1,12}(?:\.\d{1,9})?\s*$/.test(text ?? '') ? Number(text) : undefined
}
