import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { DATABASE_BOUNDS } from '#core/db/bounds.ts'
import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'
import { untilUsable } from '#core/db/schema.ts'
import { openDatabase } from '#core/db/pool.ts'
import { loadOpenAi } from '#core/embedding/requests.ts'
import { checkClocks } from '#core/limits/clock-check.ts'
import { hostAndPort } from '#core/platform/config.ts'
import { startOrExplain } from '#core/platform/start.ts'
import { startTracing } from '#core/platform/tracing.ts'
import { openLedgerQueue } from '#core/queues/ledger-queue.ts'
import { createLog } from '#core/platform/log.ts'
import { stopOnSignal } from '#core/platform/shutdown.ts'
import { GATEWAY_BOUNDS } from './bounds.ts'
import { openAccessCache, type AccessCache } from './access-cache.ts'
import { createApp } from './app.ts'
import { connectionsMax, descriptorLimits, gatewayConfig } from './config.ts'
import { createInternal } from './internal.ts'
import { createLifecycle } from './lifecycle.ts'
import { openGatewayLimits } from './limits.ts'
import { createOutages } from './outages.ts'
import { startReadiness } from './readiness.ts'
import { createConcurrencyLimit } from './retrieve/concurrency-limit.ts'
import { createFailureBudget } from './retrieve/failure-budget.ts'
import { embeddersOf } from './retrieve/embed.ts'
import { readersOf } from './retrieve/read.ts'
import { rewritersOf } from './retrieve/rewrite.ts'
import { openSearchTier } from './search-tier.ts'
import { watchStatements } from './statements.ts'

await startOrExplain('The service could not start', async () => {
  const config = gatewayConfig()
  const log = createLog('gateway', config.LOG_LEVEL)
  await startTracing('gateway', config, log)
  const database = openDatabase(config.DATABASE_URL, log, DATABASE_BOUNDS.gatewayDatabaseConnectionsMax)
  await untilUsable(database, config.GATEWAY_INTERNAL_LISTEN, log)
  const statements = watchStatements(database, log)
  const concurrency = createConcurrencyLimit()
  const databaseUrl = config.DATABASE_URL
  const limits = openGatewayLimits({ database, databaseUrl, redisUrl: config.REDIS_URL, concurrency, log })
  await limits.counters.firstAttempt()
  const clock = await checkClocks(database, limits.counters, log)
  const access = openAccessCache({ database, databaseUrl, environment: config.KEY_ENVIRONMENT, log })
  await warmUp(config, access)
  const searchTier = await openSearchTier(config.SEARCH_NODES, config, log)
  const ledger = openLedgerQueue(config.REDIS_URL, log)
  const lifecycle = createLifecycle()
  const checked = { database, statements, counters: limits.counters, searchTier, outages: createOutages(), lifecycle }
  const readiness = startReadiness({ ...checked, endpoints: config, log })
  const observed = { ...checked, readiness, concurrency, clock, redis: ledger.redis, log }
  const internal = createInternal(config, observed)
  const app = createApp({
    ...limits,
    ...checked,
    access,
    concurrency,
    ledger,
    metrics: internal.metrics,
    clock,
    log,
    peppers: config.KEY_PEPPERS,
    environment: config.KEY_ENVIRONMENT,
    serviceSecrets: config.SERVICE_SECRET,
    failures: createFailureBudget(),
    embedderOf: embeddersOf(config),
    rewriterOf: rewritersOf(config),
    readerOf: readersOf(config),
    trustedProxies: config.TRUSTED_PROXIES,
  })
  app.server.maxConnections = connectionsMax(descriptorLimits())
  // The public port opens first, so that readiness implies reachability.
  await app.listen({ ...hostAndPort(config.GATEWAY_LISTEN), backlog: GATEWAY_BOUNDS.waitingConnectionsMax })
  await internal.listen()
  const { maxConnections: connections_max } = app.server
  log.info('listening', { public: config.GATEWAY_LISTEN, internal: config.GATEWAY_INTERNAL_LISTEN, connections_max })

  const { hardDeadlineMs } = PLATFORM_BOUNDS
  stopOnSignal(log, config.DRAIN_MS + hardDeadlineMs + GATEWAY_BOUNDS.gatewayCloseTimeoutMs, async () => {
    lifecycle.advance('draining')
    await sleep(config.DRAIN_MS)
    lifecycle.advance('refusing')
    await Promise.all([lifecycle.idle(hardDeadlineMs), sleep(GATEWAY_BOUNDS.refusingMinMs)])
    await Promise.all([closeServer(app), internal.close()])
    readiness.stop()
    clock.stop()
    await Promise.all([ledger.close(), access.close()])
    searchTier.close()
    await limits.close()
    await database.end()
  })
})

/** Loads the client and plans the statement that first requests wait for. What fails here fails there, and says why. */
async function warmUp(config: ReturnType<typeof gatewayConfig>, access: AccessCache): Promise<void> {
  const unknownKeys = Array.from({ length: GATEWAY_BOUNDS.connectionsPrepared }, () => randomBytes(32))
  const embeds = (config.OPENAI_BASE_URL ?? config.OPENAI_API_KEY) !== undefined
  await Promise.allSettled([...unknownKeys.map((digest) => access.read([digest])), embeds ? loadOpenAi() : undefined])
}

/**
 * Called when nothing is in flight. A connection with an incomplete request would keep the server from closing, so all
 * connections are closed after a while.
 */
async function closeServer(server: FastifyInstance): Promise<void> {
  const rest = setTimeout(() => server.server.closeAllConnections(), GATEWAY_BOUNDS.lastRepliesMs)
  await server.close()
  clearTimeout(rest)
}
