import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Abstention, Answer, RetrievalRequest } from './contract.ts'
import { NoReply, NotConnected, REFUSALS, Refusal, UnexpectedReply, type ErrorResponse } from './errors.ts'

export type * from './contract.ts'
export * from './errors.ts'

export interface ClientOptions {
  readonly baseUrl: string
  readonly apiKey: string
  /** Of a call with its waits and retries; beyond the 20 seconds that a reply takes at worst. */
  readonly timeoutMs?: number
  readonly retries?: number
  /** A longer `Retry-After` is not waited for: the refusal is thrown. */
  readonly retryAfterMaxSeconds?: number
}

export interface CallOptions {
  /** Of 16 to 128 visible ASCII characters, one for each question; by default a new one for each call. */
  readonly idempotencyKey?: string
  readonly signal?: AbortSignal
}

interface Received<D> {
  /** That of `abstention`. */
  readonly decision: D
  /** The body as it was received, which `verify` needs. */
  readonly raw: string
}
export type Retrieval = (Answer & Received<'answer'>) | (Abstention & Received<'abstain'>)

const CONNECT_PAUSE_MS = 500
const VERIFY_OUTPUT_BYTES_MAX = 1024 * 1024
/** With any other fault the request may have arrived. */
const NEVER_MADE = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT']

/** For servers: an API key never reaches a browser. */
export class EvidenceClient {
  readonly #url: URL
  readonly #headers: Headers
  readonly #timeoutMs: number
  readonly #retries: number
  readonly #retryAfterMaxSeconds: number

  constructor(options: ClientOptions) {
    this.#url = new URL(options.baseUrl.replace(/\/*$/, '/v1/retrieve'))
    this.#headers = new Headers({ authorization: `Bearer ${options.apiKey}`, 'content-type': 'application/json' })
    this.#timeoutMs = options.timeoutMs ?? 30_000
    this.#retries = options.retries ?? 2
    this.#retryAfterMaxSeconds = options.retryAfterMaxSeconds ?? 10
  }

  /**
   * Asks, and sends again where no connection was made, or where the service says that it may be tried again soon.
   * @throws EvidenceError a subclass of `Refusal` by the code; NotConnected, NoReply, UnexpectedReply.
   */
  async retrieve(request: RetrievalRequest, options: CallOptions = {}): Promise<Retrieval> {
    const { idempotencyKey = crypto.randomUUID(), signal: given = [] } = options
    const headers = new Headers(this.#headers)
    headers.set('idempotency-key', idempotencyKey)
    const signal = AbortSignal.any([AbortSignal.timeout(this.#timeoutMs), given].flat())
    const endsAt = performance.now() + this.#timeoutMs
    const body = JSON.stringify(request)
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#send({ method: 'POST', headers, body, redirect: 'error', signal }, idempotencyKey)
      } catch (error) {
        options.signal?.throwIfAborted()
        const waitMs = attempt < this.#retries ? this.#waitBefore(error) : undefined
        if (waitMs === undefined || performance.now() + waitMs >= endsAt) throw error
        await pause(waitMs, undefined, { signal })
      }
    }
  }

  /** @returns undefined where a request is not sent again. */
  #waitBefore(error: unknown): number | undefined {
    if (error instanceof NotConnected) return CONNECT_PAUSE_MS
    if (!(error instanceof Refusal) || !error.retryable || error.retryAfter === undefined) return undefined
    return error.retryAfter <= this.#retryAfterMaxSeconds ? error.retryAfter * 1_000 : undefined
  }

  async #send(request: RequestInit, idempotencyKey: string): Promise<Retrieval> {
    const { response, raw } = await received(this.#url, request).catch((cause: unknown) => {
      const code = codeOf(cause)
      if (NEVER_MADE.includes(code)) throw new NotConnected(`${this.#url.host}: ${code}`, { cause })
      const late = request.signal?.aborted === true
      const why = late ? `no reply within ${this.#timeoutMs} ms` : `the connection broke: ${code}`
      throw new NoReply(why, idempotencyKey, { cause })
    })
    const body = parsed(raw)
    if (response.status === 200 && isAnswer(body)) return { ...body, decision: 'answer', raw }
    if (response.status === 200 && isAbstention(body)) return { ...body, decision: 'abstain', raw }
    if (response.status === 200 || !isError(body)) throw new UnexpectedReply(response.status)
    const retryAfter = response.headers.get('retry-after')
    const RefusalOfCode = Object.hasOwn(REFUSALS, body.error.code) ? REFUSALS[body.error.code] : Refusal
    throw new RefusalOfCode(response.status, retryAfter === null ? undefined : Number(retryAfter), body)
  }
}

async function received(
  url: URL,
  request: RequestInit,
): Promise<{ readonly response: Response; readonly raw: string }> {
  const response = await fetch(url, request)
  return { response, raw: await response.text() }
}

function codeOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined
  return isObject(cause) && typeof cause['code'] === 'string' ? cause['code'] : ''
}

function parsed(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return value
  } catch {
    return undefined
  }
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null

function isReply(body: unknown, decision: 'answer' | 'abstain'): boolean {
  if (!isObject(body) || !isObject(body['abstention']) || !Array.isArray(body['results'])) return false
  return body['abstention']['decision'] === decision && body['results'].length > 0 === (decision === 'answer')
}
const isAnswer = (body: unknown): body is Answer => isReply(body, 'answer')
const isAbstention = (body: unknown): body is Abstention => isReply(body, 'abstain')
const isError = (body: unknown): body is ErrorResponse =>
  isObject(body) && isObject(body['error']) && typeof body['error']['code'] === 'string'

export interface VerifyOptions {
  /** Address or folder of the public source trace. */
  readonly trace: string
  /** The operator's Ed25519 key in base64, taken by another way than the trace; several, separated by commas. */
  readonly publicKey: string
  /** YYYY-MM-DD: every passage was in force on that day. */
  readonly day?: string
  /** File with a `head.json` that was saved earlier. */
  readonly head?: string
}

export interface Verdict {
  /** `unchecked` refutes nothing: a file is missing, or the reply has no passage. */
  readonly verdict: 'proved' | 'refuted' | 'unchecked'
  readonly message: string
}

/** Proves or refutes the passages of a reply, by the program `verify-reply.mjs` of the service. */
export async function verify({ raw }: Pick<Retrieval, 'raw'>, options: VerifyOptions): Promise<Verdict> {
  const folder = await mkdtemp(join(tmpdir(), 'evidence-verify-'))
  try {
    const reply = join(folder, 'reply.json')
    await writeFile(reply, raw, { mode: 0o600 })
    const { publicKey, ...others } = options
    const flags = Object.entries({ ...others, reply, 'public-key': publicKey }).map(
      ([name, value]) => `--${name}=${value}`,
    )
    const program = fileURLToPath(new URL('./verify-reply.mjs', import.meta.url))
    return await new Promise((resolve) => {
      execFile(
        process.execPath,
        [program, ...flags],
        { maxBuffer: VERIFY_OUTPUT_BYTES_MAX },
        (error, stdout, stderr) => {
          const verdict = error === null ? 'proved' : error.code === 2 ? 'refuted' : 'unchecked'
          resolve({ verdict, message: (stdout || stderr).trim() })
        },
      )
    })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
