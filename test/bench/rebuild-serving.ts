import { createHash, randomUUID } from 'node:crypto'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { admit } from '#core/limits/admission.ts'
import { failedOutcome } from '#core/limits/settlement.ts'
import { LIMIT_BOUNDS } from '#core/limits/bounds.ts'
import { createLog } from '#core/platform/log.ts'
import { openGatewayLimits } from '#gateway/limits.ts'
import type { GatewayLimits } from '#gateway/limits.ts'
import { createConcurrencyLimit } from '#gateway/retrieve/concurrency-limit.ts'
import { openDatabase } from '#core/db/pool.ts'
import { NO_FILTERS, NO_REPLAY } from '#test/support/limits.ts'
import { CORPUS_PASSAGES } from './deliveries.ts'
import type { Tenant } from './deliveries.ts'
import { percentile } from './load.ts'
import { orderSchema } from './rebuild.ts'
import type { Served, ServingOrder, Watched } from './rebuild.ts'

/**
 * A gateway's limits in a process of its own: requests of some organizations, while the counters of another one are
 * rebuilt. `measureRebuild` starts it and sends it what to do.
 */

const ROUNDS = 3
const DATABASE_CONNECTIONS_MAX = 10
/** Between two requests of an organization. */
const PAUSE_MS = 10
const PASSAGES = 5
const DELIVERY_MS = 5_000

/** Passages of the last rebuild, as its log line says. */
let rebuiltPassages = 0
const rebuiltLine = z.object({ event: z.literal('limit counters rebuilt'), passages: z.number() })

async function serve(order: ServingOrder): Promise<Served> {
  const log = createLog('bench', 'info', (line) => {
    const parsed = rebuiltLine.safeParse(JSON.parse(line))
    if (parsed.success) rebuiltPassages = parsed.data.passages
  })
  const { gatewayDatabaseUrl: databaseUrl, redisUrl } = order
  const database = openDatabase(databaseUrl, log, DATABASE_CONNECTIONS_MAX)
  const limits = openGatewayLimits({ database, databaseUrl, redisUrl, concurrency: createConcurrencyLimit(), log })
  try {
    await limits.counters.usable()
    const quiet = (): Promise<void> => sleep(order.seconds * 1_000)
    await watched(limits, order.others, quiet)
    const without = await watched(limits, order.others, quiet)
    const rebuilds: Served['rebuilds'] = []
    for (let round = 0; round < ROUNDS; round++) {
      const figures = await watched(limits, order.others, () => rebuild(limits, order.rebuilt))
      rebuilds.push({ ...figures, passages: rebuiltPassages })
    }
    return { without, rebuilds }
  } finally {
    await limits.close()
    await database.end()
  }
}

/** Until the organization can be served again: its requests ask for the rebuild, and wait for it only for a while. */
async function rebuild({ counters, epochs }: GatewayLimits, { organizationId, limits }: Tenant): Promise<void> {
  const id = (await counters.inForce(organizationId))?.epoch
  const epoch = id === undefined ? undefined : { id, redisRunId: counters.runId() ?? '' }
  const endsAtMs = performance.now() + LIMIT_BOUNDS.rebuildTimeoutMs
  for (;;)
    try {
      await epochs.repair(organizationId, { epoch, windowDays: limits.exposure.window_days, overdue: true })
      return
    } catch (error) {
      if (performance.now() > endsAtMs) throw error
    }
}

/** Runs `work` while every other organization sends one request after the other. */
async function watched(limits: GatewayLimits, others: readonly Tenant[], work: () => Promise<void>): Promise<Watched> {
  const latenciesMs: number[] = []
  const done = new AbortController()
  const requests = Promise.all(
    others.map(async (other) => {
      for (let number = 0; !done.signal.aborted; number++) {
        latenciesMs.push(await request(limits, other, number))
        await sleep(PAUSE_MS)
      }
    }),
  )
  const delays = monitorEventLoopDelay({ resolution: 1 })
  delays.enable()
  const busy = watchBusy()
  const beganMs = performance.now()
  try {
    await Promise.race([work(), requests])
  } finally {
    delays.disable()
    busy.stop()
    done.abort()
  }
  const seconds = (performance.now() - beganMs) / 1_000
  await requests
  return {
    seconds,
    stall_ms: delays.max / 1e6,
    busy_ms: busy.longestMs(),
    admissions: latenciesMs.length,
    admission_p50_ms: percentile(latenciesMs, 0.5),
    admission_p99_ms: percentile(latenciesMs, 0.99),
  }
}

/** Watches how long the event loop computes without a look at its timers. */
function watchBusy(): { longestMs(): number; stop(): void } {
  let [longestMs, before] = [0, process.threadCpuUsage()]
  const timer = setInterval(() => {
    const { user, system } = process.threadCpuUsage(before)
    before = process.threadCpuUsage()
    longestMs = Math.max(longestMs, (user + system) / 1_000)
  }, 1)
  return { longestMs: () => longestMs, stop: () => clearInterval(timer) }
}

/** One admission, and the delivery of a few passages. @returns how long the admission took. */
async function request(limits: GatewayLimits, other: Tenant, number: number): Promise<number> {
  const [entitlement] = other.entitlements
  if (entitlement === undefined) throw new Error('the organization has no entitlement')
  const id = randomUUID()
  const beganMs = performance.now()
  const admission = await admit(
    limits,
    {
      ...entitlement,
      id,
      traceId: id,
      apiKeyId: id,
      organizationId: other.organizationId,
      environment: 'live',
      planId: other.planId,
      versionId: id,
      inForceOn: new Date().toISOString().slice(0, 10),
      limits: other.limits,
      filters: NO_FILTERS,
      entitled: NO_FILTERS,
      corpusPassages: CORPUS_PASSAGES,
      raised: 0,
      idempotencyDigests: [createHash('sha256').update(id).digest()],
      fingerprint: () => ({
        fingerprint: createHash('sha256').update(id).digest(),
        fingerprintEpoch: 1,
        requestDigest: undefined,
      }),
    },
    (_, work) => work,
  )
  const tookMs = performance.now() - beganMs
  if (admission.status === 'refused') throw new Error(`a request was refused: ${admission.refusal.reason}`)
  const passages = Array.from({ length: PASSAGES }, (_, n) => {
    const document = `${(number + n) % 100}-${n}`
    return { chunk: `chk_${document}`, document, revision: document, ordinal: 0, total: 1 }
  })
  await limits.settlement.deliver(
    admission.charge,
    { outcome: failedOutcome(null, PASSAGES, null), served: passages, replay: NO_REPLAY },
    DELIVERY_MS,
  )
  return tookMs
}

const [order] = await new Promise<readonly unknown[]>((resolve) =>
  process.once('message', (...message: readonly unknown[]) => resolve(message)),
)
process.send?.(await serve(orderSchema.parse(order)))
process.disconnect?.()
