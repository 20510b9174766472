import { readFileSync } from 'node:fs'
import type { Client } from '@opensearch-project/opensearch'
import { z } from 'zod'
import { withTimeout } from '#core/platform/with-timeout.ts'
import { ENGINE_BOUNDS } from './bounds.ts'
import type { EngineSettings } from './settings.ts'

/** `unavailable`: the same request may succeed later. `refused`: it cannot. `missing`: there is no such index. */
export type EngineFault = 'unavailable' | 'refused' | 'missing'

/** The message holds no part of a request's body. */
export class EngineError extends Error {
  override readonly name = 'EngineError'
  readonly fault: EngineFault

  constructor(fault: EngineFault, message: string, options?: { readonly cause?: unknown }) {
    super(message, options)
    this.fault = fault
  }
}

export interface EngineRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Begins with `/`. */
  readonly path: string
  readonly query?: Readonly<Record<string, string | number | boolean>>
  readonly body?: object
  /** Lines of a bulk request, in place of a body. */
  readonly lines?: string
  readonly timeoutMs?: number
}

export type EngineClient = Awaited<ReturnType<typeof openEngineClient>>

/**
 * Opens a client of the cluster. A request that one node does not take goes to the next, within the request's time; a
 * node that failed is left out for a while.
 * @throws EngineError if the settings name no cluster.
 */
export async function openEngineClient(settings: EngineSettings) {
  const { OPENSEARCH_URL: urls } = settings
  if (urls === undefined)
    throw new EngineError('refused', 'No OpenSearch cluster is configured: set OPENSEARCH_URL for this process.')
  // The library is loaded only where a cluster is configured.
  const { Client: Library } = await import('@opensearch-project/opensearch')
  const library = new Library(optionsOf(settings, urls))
  return {
    /** @throws EngineError, also if the reply has another form than the schema. */
    async request<Reply>(request: EngineRequest, schema: z.ZodType<Reply>): Promise<Reply> {
      const body = await bodyOf(library, request, urls.length - 1)
      const parsed = schema.safeParse(body)
      if (parsed.success) return parsed.data
      throw new EngineError('unavailable', `OpenSearch gave an unknown reply to ${nameOf(request)}.`)
    },
    close: () => library.close(),
    [Symbol.asyncDispose]: () => library.close(),
  }
}

function optionsOf(settings: EngineSettings, urls: readonly string[]): ConstructorParameters<typeof Client>[0] {
  const { OPENSEARCH_USER: username, OPENSEARCH_PASSWORD: password, OPENSEARCH_CA: ca } = settings
  return {
    nodes: [...urls],
    ...(username === undefined || password === undefined ? {} : { auth: { username, password } }),
    ...(ca === undefined ? {} : { ssl: { ca: readFileSync(ca, 'utf8') } }),
    agent: { keepAlive: true, maxSockets: ENGINE_BOUNDS.socketsMax },
    requestTimeout: ENGINE_BOUNDS.requestTimeoutMs,
    maxRetries: 0,
  }
}

async function bodyOf(library: Client, request: EngineRequest, retriesMax: number): Promise<unknown> {
  const { method, path, query = {}, body, lines, timeoutMs = ENGINE_BOUNDS.requestTimeoutMs } = request
  const sent = library.transport.request(
    { method, path, querystring: { ...query }, ...(lines === undefined ? { body: body ?? '' } : { bulkBody: lines }) },
    { requestTimeout: timeoutMs, maxRetries: retriesMax },
  )
  // A retry begins the library's own time anew, and its abort throws outside of the request: what is late ends alone.
  const late = new EngineError('unavailable', `OpenSearch did not answer ${nameOf(request)} in time.`)
  try {
    return (await withTimeout(timeoutMs, late, Promise.resolve(sent))).body
  } catch (error) {
    throw error instanceof EngineError ? error : faultOf(error, request)
  }
}

/** The cause of a refusal may repeat the request, so only its type is kept. */
function faultOf(error: unknown, request: EngineRequest): EngineError {
  const { statusCode: status, body } =
    error instanceof Object && 'meta' in error ? (error.meta as { statusCode?: number | null; body?: unknown }) : {}
  if (typeof status !== 'number' || status === 0) {
    const name = error instanceof Error ? error.name : 'an error'
    return new EngineError('unavailable', `OpenSearch did not answer ${nameOf(request)} (${name}).`)
  }
  const sentence = `OpenSearch answered ${nameOf(request)} with status ${status}${typeOf(body)}.`
  if (status === 404) return new EngineError('missing', sentence)
  return new EngineError(status === 429 || status >= 500 ? 'unavailable' : 'refused', sentence)
}

function typeOf(body: unknown): string {
  const error: unknown = body instanceof Object && 'error' in body ? body.error : undefined
  const type: unknown = error instanceof Object && 'type' in error ? error.type : undefined
  return typeof type === 'string' && /^[a-z_]{1,80}$/.test(type) ? ` (${type})` : ''
}

function nameOf({ method, path }: EngineRequest): string {
  return `${method} ${path}`
}

export const shardsSchema = z.object({
  total: z.int(),
  successful: z.int(),
  skipped: z.int().optional(),
  failed: z.int(),
})

/** A reply of which nothing is used. */
export const anyReply = z.unknown()

/**
 * A search over a dead shard succeeds with the hits of the others, so the counts are compared.
 * @throws EngineError `unavailable` unless every shard answered in time.
 */
export function assertWhole(
  reply: { readonly timed_out: boolean; readonly _shards: z.infer<typeof shardsSchema> },
  shards: number,
): void {
  const { total, successful, failed } = reply._shards
  if (reply.timed_out || total !== shards || successful !== total || failed > 0)
    throw new EngineError('unavailable', `OpenSearch answered for ${successful} of ${shards} shards.`)
}
