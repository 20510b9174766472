import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { parsePeppers } from '#core/credentials/settings.ts'
import { cpuTimes } from './cpu.ts'
import { logEnd, readRequests } from './gateway-log.ts'
import type { LoggedRequest } from './gateway-log.ts'
import type { Installation } from './installation.ts'
import { percentile } from './load.ts'
import { admitCaller, KNOWLEDGE_BASE } from './publish.ts'
import { MANY_LANGUAGES, SHORT_QUERY_CHARACTERS, refusables } from './refusable.ts'
import type { Refusable, RefusedCallers } from './refusable.ts'

const ROUNDS_A_SECOND = 50
/** As a share of the rounds: V8 compiles what is hot only after a while. */
const WARM_UP_SHARE = 0.2

export interface RefusalOptions {
  readonly installation: Installation
  /** Of a caller that is refused nothing. */
  readonly key: string
  /** A question that the embedding provider knows. */
  readonly question: string
  /** Measured time of a cell; at the default of 4 the 99th percentile leaves two requests out. */
  readonly seconds: number
}

/** Sends each refusable request again and again, one at a time, and reads what the gateway's log says about it. */
export async function measureRefusals(options: RefusalOptions) {
  const { installation } = options
  const [pepper] = parsePeppers(installation.settings.secrets.KEY_PEPPERS)
  if (pepper === undefined) throw new Error('the installation has no pepper')
  const results = []
  for (const refusable of refusables(await refusedCallers(options), pepper))
    results.push(await measured(installation, refusable, Math.ceil(options.seconds * ROUNDS_A_SECOND)))
  return results
}

async function refusedCallers({ installation, key, question }: RefusalOptions): Promise<RefusedCallers> {
  const limits = { max_query_characters: SHORT_QUERY_CHARACTERS }
  const short = await admitCaller(installation, { name: 'short', limits, languages: MANY_LANGUAGES })
  const exhausted = await admitCaller(installation, { name: 'exhausted', limits: { requests_per_day: 1 } })
  const usedKey = randomUUID()
  const { status } = await fetch(`${installation.gateway.baseUrl}/v1/retrieve`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${exhausted}`,
      'content-type': 'application/json',
      'idempotency-key': usedKey,
    },
    body: JSON.stringify({ query: question, knowledge_base: KNOWLEDGE_BASE }),
  })
  if (status !== 200) throw new Error(`the request that uses up the day ended with ${status}`)
  return { unlimited: key, short, exhausted, usedKey }
}

/** What one refusable request costs the gateway; its own time is the total less the time awaiting others. */
async function measured({ gateway }: Installation, refusable: Refusable, rounds: number) {
  const { bytes, ...named } = refusable
  for (let round = 0; round < rounds * WARM_UP_SHARE; round++) await send(gateway.baseUrl, bytes())
  const [from, cpuBefore] = [logEnd(gateway.logFile), cpuTimes()]
  for (let round = 0; round < rounds; round++) await send(gateway.baseUrl, bytes())
  const cpuAfter = cpuTimes()
  const requests = readRequests(gateway.logFile, from, logEnd(gateway.logFile))
  assertRefused(refusable, requests, rounds)
  const ownMs = requests.map(({ own_ms }) => own_ms)
  return {
    ...named,
    requests: requests.length,
    own_p50_ms: percentile(ownMs, 0.5),
    own_p99_ms: percentile(ownMs, 0.99),
    cpu_ms: (cpuAfter.gateway - cpuBefore.gateway) / rounds,
  }
}

/** The gateway closes the connection after its reply; it may do so before it has read everything. */
async function send(baseUrl: string, bytes: Buffer): Promise<void> {
  const { hostname, port } = new URL(baseUrl)
  const socket = connect({ host: hostname, port: Number(port), noDelay: true })
  socket.on('error', () => undefined).resume()
  socket.write(bytes)
  await once(socket, 'close')
}

/** @throws Error if a request was not refused by its stage: then something else was measured. */
function assertRefused({ stage, name, status }: Refusable, requests: readonly LoggedRequest[], rounds: number): void {
  const last = ({ stages }: LoggedRequest): string => stages.split(' ').at(-1) || 'none'
  const other = requests.find((request) => request.status !== status || last(request) !== stage)
  if (other !== undefined)
    throw new Error(`"${name}" ended with ${other.status} in ${last(other)}, not with ${status} in ${stage}`)
  if (requests.length !== rounds) throw new Error(`"${name}" was logged ${requests.length} times, sent ${rounds}`)
}
