import { setTimeout as sleep } from 'node:timers/promises'
import { Pool, errors, type Dispatcher } from 'undici'
import { z } from 'zod'
import { errorBodySchema, replyFaults } from '#test/support/reply-rules.ts'
import type { Outgoing } from './arrivals.ts'
import type { Reply } from './record.ts'

/** Connections to one gateway; further requests wait for one, and their wait counts as latency. */
const CONNECTIONS_MAX = 4_000
/** Longer than the hard deadline of a request. */
const REPLY_TIMEOUT_MS = 30_000
const CONNECT_TIMEOUT_MS = 10_000
/** One of so many replies with status 200 is checked against all rules; of the others, every one. */
const CHECKED_EVERY = 8

export const NO_REPLY: Reply = {
  outcome: 'lost',
  status: 0,
  code: null,
  requestId: null,
  originalRequestId: null,
  retryAfterSeconds: null,
  minuteQuota: null,
  minuteLeft: null,
  decision: null,
  version: null,
  faults: [],
}

export type Client = ReturnType<typeof createClient>

/** Connections that stay open, one request at a time on each. */
export function createClient() {
  const pools = new Map<string, Pool>()
  function poolOf(target: string, from: string | undefined): Pool {
    const name = `${target} ${from ?? ''}`
    const pool =
      pools.get(name) ??
      new Pool(target, {
        connections: CONNECTIONS_MAX,
        pipelining: 1,
        headersTimeout: REPLY_TIMEOUT_MS,
        bodyTimeout: REPLY_TIMEOUT_MS,
        connectTimeout: CONNECT_TIMEOUT_MS,
        ...(from === undefined ? {} : { localAddress: from }),
      })
    pools.set(name, pool)
    return pool
  }
  return {
    /** Never rejects. */
    send: (target: string, knowledgeBase: string, request: Outgoing) =>
      send(poolOf(target, request.from), knowledgeBase, request),
    close: async () => {
      await Promise.all([...pools.values()].map((pool) => pool.destroy()))
    },
  }
}

async function send(pool: Pool, knowledgeBase: string, request: Outgoing): Promise<Reply> {
  const { behaviour } = request
  const hangUp = new AbortController()
  const timer = behaviour?.kind === 'hang up' ? setTimeout(() => hangUp.abort(), behaviour.afterMs) : undefined
  try {
    const response = await pool.request({
      method: 'POST',
      path: '/v1/retrieve',
      headers: {
        authorization: `Bearer ${request.secret}`,
        'content-type': 'application/json',
        ...(request.idempotencyKey === undefined ? {} : { 'idempotency-key': request.idempotencyKey }),
      },
      body: JSON.stringify({ query: request.query, knowledge_base: knowledgeBase }),
      signal: hangUp.signal,
    })
    const body = await bodyOf(response, behaviour?.kind === 'read slowly' ? behaviour.pauseMs : 0)
    return replyOf(response, body, request.n)
  } catch (error) {
    if (hangUp.signal.aborted) return { ...NO_REPLY, outcome: 'hung up' }
    return { ...NO_REPLY, code: error instanceof errors.UndiciError ? error.code : null }
  } finally {
    clearTimeout(timer)
  }
}

async function bodyOf({ body }: Dispatcher.ResponseData, pauseMs: number): Promise<Buffer> {
  if (pauseMs === 0) return Buffer.from(await body.arrayBuffer())
  const chunks: Buffer[] = []
  await sleep(pauseMs)
  for await (const chunk of body) {
    chunks.push(z.instanceof(Buffer).parse(chunk))
    await sleep(pauseMs)
  }
  return Buffer.concat(chunks)
}

function replyOf({ statusCode: status, headers: raw }: Dispatcher.ResponseData, body: Buffer, n: number): Reply {
  const headers = new Headers()
  for (const [name, value] of Object.entries(raw)) for (const one of [value ?? []].flat()) headers.append(name, one)
  const error = status === 200 ? undefined : parsedAs(errorBodySchema, body)?.error
  const answer = status === 200 ? parsedAs(answerSchema, body) : undefined
  const retryAfter = headers.get('retry-after')
  return {
    outcome: 'replied',
    status,
    code: error?.code ?? null,
    requestId: headers.get('x-request-id'),
    originalRequestId: error?.original_request_id ?? null,
    retryAfterSeconds: retryAfter === null ? null : Number(retryAfter),
    minuteQuota: field(headers.get('ratelimit-policy') ?? '', 'minute', 'q'),
    minuteLeft: field(headers.get('ratelimit') ?? '', 'minute', 'r'),
    decision: answer?.abstention.decision ?? null,
    version: answer?.version ?? null,
    faults: status !== 200 || n % CHECKED_EVERY === 0 ? [...replyFaults(status, headers, body)] : [],
  }
}

const answerSchema = z.object({
  version: z.string(),
  abstention: z.object({ decision: z.enum(['answer', 'abstain']) }),
})

/** @returns undefined for another body: the rules of all replies name its fault. */
function parsedAs<T>(schema: z.ZodType<T>, body: Buffer): T | undefined {
  try {
    return schema.parse(JSON.parse(body.toString()))
  } catch {
    return undefined
  }
}

/** A parameter of one item of a structured list: `"minute";q=10;w=60, "day";…`. */
function field(list: string, item: string, name: string): number | null {
  const found = new RegExp(`"${item}"(?:;\\w+=\\d+)*?;${name}=(\\d+)`).exec(list)?.[1]
  return found === undefined ? null : Number(found)
}
