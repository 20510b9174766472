import { Agent, request as httpRequest, type OutgoingHttpHeaders } from 'node:http'
import { connect } from 'node:net'
import { retrievalResponseSchema } from '#gateway/retrieve/schema.ts'
import { startAdjustedTimer } from './clock.ts'
import { errorBodySchema, replyFaults } from './reply-rules.ts'

export interface AskOptions {
  readonly key?: string | undefined
  /** Added to, or in place of, what a request carries by itself; undefined leaves that header out. */
  readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly baseUrl?: string
  readonly path?: string
  readonly method?: string
  readonly signal?: AbortSignal
  /** Sends these pieces without declaring their length. */
  readonly chunks?: readonly (string | Uint8Array)[]
  /** Address of 127.0.0.0/8 that the request comes from. */
  readonly from?: string
}

export type Answer = Awaited<ReturnType<typeof ask>>

/** Longer than the hard deadline of a request; on the load-adjusted clock. */
const TIMEOUT_MS = 60_000
/** An idle connection ends here long before the gateway ends it, which could meet a request that is being sent. */
const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY, timeout: 20_000 })

/**
 * One request over HTTP. A string or bytes are sent as they are, anything else as JSON; undefined sends no body. Every
 * reply is checked against the rules of all replies.
 * @throws when the reply breaks one.
 */
export async function ask(baseUrl: string, body: unknown, options: AskOptions = {}) {
  const { status, headers, bytes } = await exchange(baseUrl, bytesOf(body), options)
  const faults = options.method === 'HEAD' ? [] : replyFaults(status, headers, bytes)
  if (faults.length > 0)
    throw new Error(`a reply broke the contract: ${faults.join('; ')}\n${status} ${bytes.toString()}`)
  return {
    status,
    headers,
    bytes,
    /** The body of a 200. @throws when it is not one. */
    retrieved: () => retrievalResponseSchema.parse(JSON.parse(bytes.toString())),
    /** The body of an error. @throws when it is not one. */
    error: () => errorBodySchema.parse(JSON.parse(bytes.toString())),
  }
}

function bytesOf(body: unknown): Buffer | undefined {
  if (body === undefined) return undefined
  return typeof body === 'string'
    ? Buffer.from(body)
    : body instanceof Uint8Array
      ? Buffer.from(body)
      : Buffer.from(JSON.stringify(body))
}

interface Received {
  readonly status: number
  readonly headers: Headers
  readonly bytes: Buffer
}

function exchange(baseUrl: string, body: Buffer | undefined, options: AskOptions): Promise<Received> {
  const { hostname, port } = new URL(options.baseUrl ?? baseUrl)
  const late = new AbortController()
  const timer = startAdjustedTimer(TIMEOUT_MS, () => late.abort(new Error(`no reply within ${TIMEOUT_MS} ms`)))
  const received = new Promise<Received>((resolve, reject) => {
    const outgoing = httpRequest(
      {
        hostname,
        port,
        path: options.path ?? '/v1/retrieve',
        method: options.method ?? 'POST',
        headers: headersOf(body, options),
        signal: options.signal === undefined ? late.signal : AbortSignal.any([options.signal, late.signal]),
        ...(options.from === undefined ? { agent } : { localAddress: options.from, agent: false }),
      },
      (incoming) => {
        const chunks: Buffer[] = []
        const headers = new Headers()
        for (let at = 0; at + 1 < incoming.rawHeaders.length; at += 2)
          headers.append(incoming.rawHeaders[at] ?? '', incoming.rawHeaders[at + 1] ?? '')
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
        incoming.on('error', reject)
        incoming.on('end', () => resolve({ status: incoming.statusCode ?? 0, headers, bytes: Buffer.concat(chunks) }))
      },
    )
    outgoing.on('error', reject)
    for (const chunk of options.chunks ?? []) outgoing.write(chunk)
    outgoing.end(body)
  })
  return received.finally(() => timer.stop())
}

function headersOf(body: Buffer | undefined, { key, headers, chunks }: AskOptions): OutgoingHttpHeaders {
  const all = {
    'content-type': 'application/json',
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    ...(chunks === undefined ? { 'content-length': String(body?.length ?? 0) } : { 'transfer-encoding': 'chunked' }),
    ...headers,
  }
  return Object.fromEntries(
    Object.entries(all).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, typeof value === 'string' ? value : [...value]]],
    ),
  )
}

/** Sends bytes as they are and returns everything that comes back until the other side closes. */
export function sendRaw(baseUrl: string, bytes: string | Uint8Array): Promise<string> {
  const { hostname, port } = new URL(baseUrl)
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    const socket = connect(Number(port), hostname, () => socket.write(bytes))
    const timer = startAdjustedTimer(TIMEOUT_MS, () => socket.destroy())
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    // A reset may follow the reply when bytes are left unread; what was received is what counts.
    socket.on('error', () => undefined)
    socket.on('close', () => {
      timer.stop()
      resolve(Buffer.concat(chunks).toString())
    })
  })
}

/** The first HTTP reply in what came back raw, checked against the rules of all replies. */
export function readRaw(received: string) {
  const end = received.indexOf('\r\n\r\n')
  const [statusLine = '', ...lines] = received.slice(0, end === -1 ? undefined : end).split('\r\n')
  const headers = new Headers(
    lines.map((line): [string, string] => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon), line.slice(colon + 1).trim()]
    }),
  )
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(statusLine)?.[1] ?? 0)
  const body = Buffer.from(received.slice(end + 4)).subarray(0, Number(headers.get('content-length') ?? 0))
  return { status, headers, faults: replyFaults(status, headers, body) }
}
