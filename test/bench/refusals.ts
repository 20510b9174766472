import { randomUUID } from 'node:crypto'
import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'
import { parsePeppers } from '#core/credentials/settings.ts'
import { openConnection } from './connection.ts'
import { cpuBetween, cpuTimes } from './cpu.ts'
import { logEnd, readRequests } from './gateway-log.ts'
import type { LoggedRequest } from './gateway-log.ts'
import type { Installation } from './installation.ts'
import { percentile } from './load.ts'
import { admitCaller, KNOWLEDGE_BASE } from './publish.ts'
import { MANY_LANGUAGES, SHORT_QUERY_CHARACTERS, refusables } from './refusable.ts'
import type { Refusable, RefusedCallers } from './refusable.ts'
import { aligned } from './table.ts'
import { atMost } from './thresholds.ts'
import type { Threshold } from './thresholds.ts'

/** What one refusable request costs the gateway. */
export interface RefusalResult {
  readonly stage: Refusable['stage']
  readonly name: string
  readonly status: number
  readonly requests: number
  /** Of the gateway: total less the time awaiting others. */
  readonly own_p50_ms: number
  readonly own_p99_ms: number
  /** CPU time of the gateway for each request, with the parts that it awaits; null where it is not reported. */
  readonly cpu_ms: number | null
}

const OWN_MS_MAX = 2
const ROUNDS_A_SECOND = 50
/** As a share of the rounds: V8 compiles what is hot only after a while. */
const WARM_UP_SHARE = 0.2

export interface RefusalOptions {
  readonly installation: Installation
  /** Of a caller that is refused nothing. */
  readonly key: string
  /** A question that the embedding provider knows. */
  readonly question: string
  /** Times that each request is sent. */
  readonly rounds: number
}

/** @param seconds measured time of a cell; at the default of 4 the 99th percentile leaves two requests out. */
export function refusalRounds(seconds: number): number {
  return Math.ceil(seconds * ROUNDS_A_SECOND)
}

/** Sends each refusable request again and again, one at a time, and reads what the gateway's log says about it. */
export async function measureRefusals(options: RefusalOptions): Promise<readonly RefusalResult[]> {
  const { installation } = options
  const [pepper] = parsePeppers(installation.settings.secrets.KEY_PEPPERS)
  if (pepper === undefined) throw new Error('the installation has no pepper')
  const results: RefusalResult[] = []
  for (const refusable of refusables(await refusedCallers(options), pepper))
    results.push(await measured(options, refusable))
  return results
}

async function refusedCallers({ installation, key, question }: RefusalOptions): Promise<RefusedCallers> {
  const short = await admitCaller(installation, {
    name: 'short',
    limits: { max_query_characters: SHORT_QUERY_CHARACTERS },
    languages: MANY_LANGUAGES,
  })
  const exhausted = await admitCaller(installation, { name: 'exhausted', limits: { requests_per_day: 1 } })
  const usedKey = randomUUID()
  const response = await fetch(`${installation.gateway.baseUrl}/v1/retrieve`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${exhausted}`,
      'content-type': 'application/json',
      'idempotency-key': usedKey,
    },
    body: JSON.stringify({ query: question, knowledge_base: KNOWLEDGE_BASE }),
  })
  if (response.status !== 200) throw new Error(`the request that uses up the day ended with ${response.status}`)
  return { unlimited: key, short, exhausted, usedKey }
}

async function measured({ installation, rounds }: RefusalOptions, refusable: Refusable): Promise<RefusalResult> {
  const { gateway } = installation
  for (let round = 0; round < rounds * WARM_UP_SHARE; round++) await send(gateway.baseUrl, refusable)
  const [from, cpuBefore] = [logEnd(gateway.logFile), cpuTimes()]
  for (let round = 0; round < rounds; round++) await send(gateway.baseUrl, refusable)
  const cpu = cpuBetween(cpuBefore, cpuTimes())
  const requests = readRequests(gateway.logFile, from, logEnd(gateway.logFile))
  assertRefused(refusable, requests, rounds)
  const ownMs = requests.map(({ own_ms }) => own_ms)
  const { stage, name, status } = refusable
  return {
    stage,
    name,
    status,
    requests: requests.length,
    own_p50_ms: percentile(ownMs, 0.5),
    own_p99_ms: percentile(ownMs, 0.99),
    cpu_ms: cpu === undefined ? null : cpu.gateway / rounds,
  }
}

async function send(baseUrl: string, refusable: Refusable): Promise<void> {
  const { hostname, port } = new URL(baseUrl)
  const connection = await openConnection(hostname, Number(port), PLATFORM_BOUNDS.hardDeadlineMs)
  try {
    await connection.post(refusable.bytes())
  } finally {
    connection.close()
  }
}

/** @throws Error if a request was not refused by its stage: then something else was measured. */
function assertRefused({ stage, name, status }: Refusable, requests: readonly LoggedRequest[], rounds: number): void {
  const last = ({ stages }: LoggedRequest): string => stages.split(' ').at(-1) || 'none'
  const other = requests.find((request) => request.status !== status || last(request) !== stage)
  if (other !== undefined)
    throw new Error(`"${name}" ended with ${other.status} in ${last(other)}, not with ${status} in ${stage}`)
  if (requests.length !== rounds) throw new Error(`"${name}" was logged ${requests.length} times, sent ${rounds}`)
}

export const REFUSAL_HEAD = ['refused by', 'request', 'status', 'own p50', 'own p99', 'CPU']

export function refusalRow({ stage, name, status, own_p50_ms, own_p99_ms, cpu_ms }: RefusalResult): readonly string[] {
  const ms = (value: number | null): string => (value === null ? '–' : `${value.toFixed(2)} ms`)
  return [stage, name, String(status), ms(own_p50_ms), ms(own_p99_ms), ms(cpu_ms)]
}

export function renderRefusals(results: readonly RefusalResult[]): string {
  return aligned([REFUSAL_HEAD, ...results.map(refusalRow)])
}

/** One threshold for each stage that refuses, on its dearest request. */
export function judgeRefusals(results: readonly RefusalResult[]): readonly Threshold[] {
  return [...new Set(results.map(({ stage }) => stage))].map((stage) => {
    const dearest = Math.max(...results.filter((each) => each.stage === stage).map((each) => each.own_p50_ms))
    return atMost(`own time of a refusal at p50, stage ${stage}`, OWN_MS_MAX, dearest, 'ms', 2)
  })
}
