import type { Redis } from 'ioredis'
import type { Database } from '#core/db/pool.ts'
import type { ClockCheck } from '#core/limits/clock-check.ts'
import { serveInternal, type InternalServer } from '#core/platform/internal-server.ts'
import type { Log } from '#core/platform/log.ts'
import { countRefusals } from '#core/redis/refusals.ts'
import { reportStatus, type StatusBoard } from '#core/redis/status-board.ts'
import { expiringCertificate } from '#core/rpc/certificates.ts'
import type { GatewayConfig } from './config.ts'
import type { Lifecycle } from './lifecycle.ts'
import { createGatewayMetrics } from './metrics.ts'
import type { Readiness } from './readiness.ts'
import type { ConcurrencyLimit } from './retrieve/concurrency-limit.ts'
import type { SearchTier } from './search-tier.ts'
import { createUsageBoard } from './usage.ts'

interface InternalDeps {
  readonly database: Database
  readonly lifecycle: Lifecycle
  readonly readiness: Readiness
  readonly concurrency: ConcurrencyLimit
  readonly clock: ClockCheck
  readonly searchTier: SearchTier
  readonly redis: Redis
  readonly log: Log
}

/** What a gateway tells of itself: metrics, readiness, its line of `operator status`, and counts of refusals. */
export function createInternal(
  config: Pick<GatewayConfig, 'GATEWAY_INTERNAL_LISTEN' | 'KEY_ENVIRONMENT' | 'SEARCH_TLS_CERT'>,
  { redis, lifecycle, readiness, log, ...observed }: InternalDeps,
) {
  const usage = createUsageBoard()
  const refusals = countRefusals(redis)
  const metrics = createGatewayMetrics({
    ...observed,
    usage,
    refusals,
    readiness,
    inFlight: lifecycle.inFlight,
    environment: config.KEY_ENVIRONMENT,
    certificate: config.SEARCH_TLS_CERT,
  })
  const ready = () => readyState(readiness, observed.clock)
  let server: InternalServer | undefined
  let status: StatusBoard | undefined
  return {
    metrics,
    async listen() {
      server = await serveInternal(config.GATEWAY_INTERNAL_LISTEN, { registry: metrics.registry, ready }, log, 'fail')
      status = reportStatus(redis, 'gateway', () => {
        const dependencies = { ...readiness.dependencies(), ...expiringCertificate(config.SEARCH_TLS_CERT) }
        return { ...ready(), dependencies, nodes: observed.searchTier.nodes(), near_limits: usage.near() }
      })
    },
    async close() {
      await Promise.all([server?.close(), status?.stop(), refusals.close()])
    },
  }
}

/** What the internal port tells of this gateway. */
function readyState(
  readiness: Pick<Readiness, 'faults' | 'dependencies' | 'knowledgeBases'>,
  clock: Pick<ClockCheck, 'fault' | 'isOwnFault'>,
) {
  const clockFault = clock.fault()
  const notServed = readiness.knowledgeBases().filter(({ reason }) => reason !== null)
  return {
    faults: [...readiness.faults(), ...(clockFault !== undefined && clock.isOwnFault() ? [clockFault] : [])],
    dependencies: readiness.dependencies(),
    clock: clockFault,
    ...(notServed.length === 0 ? {} : { not_served: notServed }),
  }
}
