import type { Redis } from 'ioredis'
import type { Registry } from 'prom-client'
import { readActive, readBacklog, type Backlog } from '#core/db/backlog.ts'
import { candidatesWaiting } from '#core/db/reviews.ts'
import { CAPTURE_OUTCOMES, sourcesByLastCapture } from '#core/db/sources.ts'
import type { Database } from '#core/db/pool.ts'
import type { Drifts } from './maintenance/canaries.ts'
import type { ClockCheck } from '#core/limits/clock-check.ts'
import type { ArtifactStore } from '#core/index/format/store.ts'
import { serveInternal, type Internal, type InternalServer } from '#core/platform/internal-server.ts'
import type { Log } from '#core/platform/log.ts'
import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'
import { createRegistry, diskOf, gauge, registerDisks, registerPool, type MetricName } from '#core/platform/metrics.ts'
import { infoFields } from '#core/redis/server-check.ts'
import { reportStatus, type StatusReport } from '#core/redis/status-board.ts'
import { expiringCertificate, registerCertificate } from '#core/rpc/certificates.ts'
import { captureCosts } from '#jobs/capture/schedule.ts'
import { JOB_BOUNDS } from '../platform/bounds.ts'
import type { JobsConfig } from '../platform/config.ts'
import { QUEUES, openQueue, type JobQueue } from '../platform/queues.ts'

interface MetricsDeps {
  readonly database: Database
  readonly clock: Pick<ClockCheck, 'fault' | 'register'>
  readonly certificate: string | undefined
  readonly drifts: Drifts
  readonly queues: readonly JobQueue[]
  readonly redis: Pick<Redis, 'info' | 'status'>
  readonly store: string
  /** Time since the last success of each maintenance task, ms. */
  readonly tasks: () => Readonly<Record<string, number>>
}

/** Health and Prometheus metrics of the job worker, for a port that is never public. */
export function createJobsMetrics(deps: MetricsDeps): Internal {
  const { database, clock, certificate, drifts, tasks, store } = deps
  const registry = createRegistry()
  clock.register(registry)
  registerCertificate(registry, certificate)
  registerPool(registry, database)
  registerDisks(registry, { store })
  registerCorpora(registry, database)
  registerBacklog(registry, deps)
  registerQueues(registry, deps)
  captureCosts.register(registry)
  gauge(registry, 'evidence_rewriter_drift', () =>
    [...drifts].map(([knowledge_base, drift]) => [{ knowledge_base }, drift]),
  )
  gauge(registry, 'evidence_task_success_age_seconds', () =>
    Object.entries(tasks()).map(([task, ms]) => [{ task }, ms / 1_000]),
  )
  return { registry, ready: () => readyState(deps) }
}

/** Serves the metrics of a worker, and reports for `operator status`, until it is closed. */
export async function serveJobsMetrics(
  config: Pick<JobsConfig, 'JOBS_LISTEN' | 'SEARCH_TLS_CERT'>,
  {
    queueRedis: redis,
    store,
    log,
    ...deps
  }: Pick<MetricsDeps, 'database' | 'clock' | 'drifts' | 'tasks'> & {
    readonly queueRedis: Redis
    readonly store: Pick<ArtifactStore, 'root'>
    readonly log: Log
  },
): Promise<{ readonly internal: InternalServer; readonly close: () => Promise<void> }> {
  const queues = QUEUES.map((name) => openQueue(name, redis, log))
  const all = { ...deps, redis, queues, store: store.root, certificate: config.SEARCH_TLS_CERT }
  const internal = await serveInternal(config.JOBS_LISTEN, createJobsMetrics(all), log)
  const status = reportStatus(redis, 'jobs', () => statusOf(all))
  return {
    internal,
    async close() {
      await Promise.all([internal.close(), status.stop()])
      await Promise.all(queues.map((queue) => queue.close()))
    },
  }
}

/** What the worker says of itself, for `operator status`. */
function statusOf(deps: MetricsDeps): StatusReport {
  const { faults, ms_since_success: agesMs } = readyState(deps)
  return {
    faults,
    clock: deps.clock.fault(),
    dependencies: expiringCertificate(deps.certificate),
    tasks: Object.fromEntries(Object.entries(agesMs).map(([task, ms]) => [task, Math.round(ms / 1_000)])),
    disks: [diskOf('store', deps.store)],
  }
}

function readyState({ clock, tasks }: Pick<MetricsDeps, 'clock' | 'tasks'>) {
  const agesMs = tasks()
  const isSwept = (agesMs['sweep'] ?? 0) < JOB_BOUNDS.sweepAgeMaxMs
  const faults = [clock.fault(), isSwept ? undefined : 'sweep: no success lately'].filter((one) => one !== undefined)
  return { faults, ms_since_success: agesMs }
}

/** Each scrape counts in Postgres. */
function registerCorpora(registry: Registry, database: Database): void {
  const { metricSeriesMax } = PLATFORM_BOUNDS
  gauge(registry, 'evidence_candidates_waiting', async () =>
    (await candidatesWaiting(database, metricSeriesMax)).map(({ knowledge_base, count }) => [
      { knowledge_base },
      count,
    ]),
  )
  gauge(registry, 'evidence_sources', async () => {
    const found = await sourcesByLastCapture(database, metricSeriesMax)
    // An alert on failures needs a zero, too.
    const zeros = found.flatMap(({ knowledge_base }) =>
      CAPTURE_OUTCOMES.map((outcome) => [{ knowledge_base, outcome }, 0] as const),
    )
    return [
      ...zeros,
      ...found.map(({ knowledge_base, outcome, count }) => [{ knowledge_base, outcome }, count] as const),
    ]
  })
  gauge(registry, 'evidence_active_version_age_seconds', async () =>
    (await readActive(database, metricSeriesMax)).map(({ knowledge_base, version_id: version, age_seconds }) => [
      { knowledge_base, version },
      age_seconds,
    ]),
  )
}

const BACKLOG: readonly (readonly [name: MetricName, field: keyof Backlog])[] = [
  ['evidence_ledger_backlog', 'ledger_entries'],
  ['evidence_ledger_backlog_age_seconds', 'ledger_age_seconds'],
  ['evidence_backup_age_seconds', 'backup_age_seconds'],
  ['evidence_database_lock_waits', 'lock_waits'],
  ['evidence_database_bytes', 'database_bytes'],
]

function registerBacklog(registry: Registry, { database }: MetricsDeps): void {
  const backlog = readOnce(() => readBacklog(database))
  for (const [name, field] of BACKLOG)
    gauge(registry, name, async () => {
      const read = await backlog()
      return read === undefined ? [] : [[{}, read[field]]]
    })
}

function registerQueues(registry: Registry, { queues, redis }: MetricsDeps): void {
  // A client that waits for Redis would collect the commands of all scrapes.
  function assertReady(): void {
    if (redis.status !== 'ready') throw new Error('Redis is away')
  }
  const info = readOnce(async () => {
    assertReady()
    return infoFields(await redis.info('memory', 'persistence'))
  })
  gauge(registry, 'evidence_queue_jobs', async () => {
    assertReady()
    const counted = await Promise.all(
      queues.map(
        async (queue) => [queue.name, await queue.getJobCounts('wait', 'active', 'delayed', 'failed')] as const,
      ),
    )
    return counted.flatMap(([queue, counts]) =>
      Object.entries(counts).map(([state, count]) => [{ queue, state }, count] as const),
    )
  })
  gauge(registry, 'evidence_queue_oldest_seconds', async () => {
    assertReady()
    return Promise.all(queues.map(async (queue) => [{ queue: queue.name }, await oldestSeconds(queue)] as const))
  })
  gauge(registry, 'evidence_redis_memory_bytes', async () => {
    const { used_memory: used, maxmemory: max } = await info()
    return [
      [{ state: 'used' }, Number(used ?? Number.NaN)],
      [{ state: 'max' }, Number(max ?? Number.NaN)],
    ]
  })
  gauge(registry, 'evidence_redis_persists', async () => {
    const { aof_enabled: enabled, aof_last_write_status: status } = await info()
    return [[{}, Number(enabled === '1' && status === 'ok')]]
  })
}

async function oldestSeconds(queue: JobQueue): Promise<number> {
  const [oldest] = await queue.getJobs(['wait'], 0, 0, true)
  return oldest === undefined ? 0 : Math.max(0, Date.now() - oldest.timestamp) / 1_000
}

/** Shares one read among the metrics of one scrape. */
function readOnce<T>(read: () => Promise<T>): () => Promise<T> {
  let reading: Promise<T> | undefined
  return () => (reading ??= read().finally(() => (reading = undefined)))
}
