import { connect } from 'node:net'
import { z } from 'zod'
import { errorResponseSchema, retrievalResponseSchema } from '#gateway/retrieve/schema.ts'
import type { RetrievalResponse } from '#gateway/retrieve/schema.ts'
import { ERROR_CODES } from '#core/errors.ts'

export interface AskOptions {
  readonly key?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
  readonly baseUrl?: string
  readonly path?: string
  readonly method?: string
  readonly signal?: AbortSignal
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly bytes: Buffer
  /** The body of a 200, checked against the contract's schema. @throws when it is not one. */
  retrieved(): RetrievalResponse
  /** The body of an error, checked against the contract's schema. @throws when it is not one. */
  error(): ErrorBody
}

const errorBodySchema = z.object({
  error: z.object({
    code: z.enum(ERROR_CODES as readonly [string, ...string[]]),
    message: z.string(),
    retryable: z.boolean(),
    details: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
    original_request_id: z.string().optional(),
  }),
  request_id: z.string(),
  trace_id: z.string(),
})
export type ErrorBody = z.infer<typeof errorBodySchema>

const TIMEOUT_MS = 25_000

/** One request over HTTP. A string or bytes are sent as they are, anything else as JSON. */
export async function ask(baseUrl: string, body: unknown, options: AskOptions = {}): Promise<Answer> {
  const raw = typeof body === 'string' || body instanceof Uint8Array || body === undefined ? body : JSON.stringify(body)
  const response = await fetch(`${options.baseUrl ?? baseUrl}${options.path ?? '/v1/retrieve'}`, {
    method: options.method ?? 'POST',
    headers: { ...(options.key === undefined ? {} : { authorization: `Bearer ${options.key}` }), 'content-type': 'application/json', ...options.headers },
    ...(raw === undefined ? {} : { body: typeof raw === 'string' ? raw : new Uint8Array(raw) }),
    signal: options.signal === undefined ? AbortSignal.timeout(TIMEOUT_MS) : AbortSignal.any([options.signal, AbortSignal.timeout(TIMEOUT_MS)]),
  })
  const bytes = Buffer.from(await response.arrayBuffer())
  const json = (): unknown => JSON.parse(bytes.toString())
  return {
    status: response.status,
    headers: response.headers,
    bytes,
    retrieved: () => retrievalResponseSchema.parse(json()),
    error: () => {
      const value = json()
      errorResponseSchema(ERROR_CODES as readonly [string, ...string[]]).parse(value)
      return errorBodySchema.parse(value)
    },
  }
}

/** Sends bytes as they are and returns everything that comes back until the other side closes or falls silent. */
export function sendRaw(baseUrl: string, bytes: string | Uint8Array, silenceMs = 1_000): Promise<string> {
  const { hostname, port } = new URL(baseUrl)
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const socket = connect(Number(port), hostname, () => socket.write(bytes))
    socket.setTimeout(silenceMs, () => socket.destroy())
    socket.on('data', (chunk) => chunks.push(chunk))
    socket.on('error', reject)
    socket.on('close', () => resolve(Buffer.concat(chunks).toString()))
  })
}
