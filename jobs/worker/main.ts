import { writeFileSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { createSignedStore } from '#core/index/format/store.ts'
import { DATABASE_BOUNDS } from '#core/db/bounds.ts'
import { LIMIT_BOUNDS } from '#core/limits/bounds.ts'
import { untilUsable } from '#core/db/schema.ts'
import { openDatabase } from '#core/db/pool.ts'
import { createReservationWriter } from '#core/db/reservation-writer.ts'
import { openCounters } from '#core/limits/counters.ts'
import { createSettlement } from '#core/limits/settlement.ts'
import { checkClocks } from '#core/limits/clock-check.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { createLog } from '#core/platform/log.ts'
import { stopOnSignal } from '#core/platform/shutdown.ts'
import { startOrExplain } from '#core/platform/start.ts'
import { startTracing } from '#core/platform/tracing.ts'
import { JOB_BOUNDS } from '../platform/bounds.ts'
import { defaultBuildHeapMb } from '#jobs/version-build/unexpected-exit.ts'
import { jobsConfig } from '../platform/config.ts'
import { openQueueRedis } from '../platform/queues.ts'
import type { Drifts } from './maintenance/canaries.ts'
import { serveJobsMetrics } from './metrics.ts'
import { followSearchNodes } from '../platform/search-nodes.ts'
import { startJobs } from './workers.ts'

await startOrExplain('The job worker cannot start', async () => {
  const config = jobsConfig()
  const log = createLog('jobs', config.LOG_LEVEL)
  await startTracing('jobs', config, log)
  const database = openDatabase(config.DATABASE_URL, log, DATABASE_BOUNDS.jobsDatabaseConnectionsMax)
  await untilUsable(database, config.JOBS_LISTEN, log)
  const queueRedis = openQueueRedis(config.REDIS_URL, log)
  await queueRedis.usable()
  const counters = openCounters(config.REDIS_URL, log)
  await counters.firstAttempt()
  const clock = await checkClocks(database, counters, log)
  const clockFault = clock.fault()
  if (clockFault !== undefined)
    throw new OperatorError(`The clocks differ, so nothing is begun: set them (${clockFault}).`)
  const settlement = createSettlement({ database, reservations: createReservationWriter(database), counters, log })
  const searchNodes = await followSearchNodes(config, log)
  const store = createSignedStore(config)
  await store.probe()
  // Requests have priority on a shared machine; build processes inherit the priority of this one. Not earlier, because
  // on a busy machine the connections above would then not be made in their time.
  setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
  const drifts: Drifts = new Map()
  const jobs = await startJobs({
    database,
    redis: queueRedis.redis,
    store,
    nodes: searchNodes.nodes,
    counters,
    settlement,
    privateKeyDer: config.MANIFEST_PRIVATE_KEY,
    traceDir: config.TRACE_DIR ?? store.traceFolder,
    notified: { webhook: config.CAPTURE_WEBHOOK_URL, command: config.CAPTURE_COMMAND },
    buildConcurrency: config.BUILD_CONCURRENCY,
    buildHeapMb: config.BUILD_HEAP_MB ?? defaultBuildHeapMb(config.BUILD_CONCURRENCY),
    vectorCacheBytesMax: DATABASE_BOUNDS.vectorCacheBytesMax,
    engine: config,
    rewriting: config,
    drifts,
    held: clock.fault,
    onTaskDone: (task) => {
      if (task === 'sweep' && config.HEARTBEAT_FILE !== undefined) writeFileSync(config.HEARTBEAT_FILE, '')
    },
    log,
  })
  const observed = { database, clock, drifts, queueRedis: queueRedis.redis, store, tasks: () => jobs.tasks(), log }
  const { internal, close } = await serveJobsMetrics(config, observed)
  stopOnSignal(log, JOB_BOUNDS.jobsStopTimeoutMs, async () => {
    await close()
    await jobs.close()
    clock.stop()
    searchNodes.close()
    await settlement.idle(LIMIT_BOUNDS.settlementsEndMs)
    counters.close()
    queueRedis.close()
    await database.end()
  })
  log.info('ready', { search_nodes: searchNodes.nodes.length, metrics: internal.port })
})
