import type { Registry } from 'prom-client'
import { createEncoderMetrics } from '#jobs/encoder/app.ts'
import { createTraceMetrics } from '#jobs/trace/app.ts'
import { createJobsMetrics } from '#jobs/worker/metrics.ts'
import { createGatewayMetrics } from '#gateway/metrics.ts'
import { openSearchTier } from '#gateway/search-tier.ts'
import { createUsageBoard } from '#gateway/usage.ts'
import { startClockCheck } from '#core/limits/clock-check.ts'
import { createLog } from '#core/platform/log.ts'
import { createNodeMetrics } from '#search-node/metrics.ts'
import { openTestPools } from './postgres.ts'
import { openTestRedis } from './redis.ts'
import { PLAINTEXT } from './search-node.ts'
import { openQueue, openQueueRedis, QUEUES } from '#jobs/platform/queues.ts'

const quiet = createLog('test', 'silent')

/** The registries of every process as its main.ts makes them, on a Postgres and a Redis, without the process. */
export async function exportedRegistries(folder: string, certificate: string) {
  const { gateway, jobs } = await openTestPools()
  const redis = await openTestRedis()
  const connection = openQueueRedis(redis.url, quiet)
  await connection.usable()
  const queues = QUEUES.map((name) => openQueue(name, connection.redis, quiet))
  const clock = await startClockCheck(
    { postgres: () => Promise.resolve(Date.now()), redis: () => Promise.resolve(Date.now()) },
    quiet,
  )
  const searchTier = await openSearchTier('127.0.0.1:1', { ...PLAINTEXT, SEARCH_PLAINTEXT: 'allow' }, quiet)
  const node = createNodeMetrics()
  node.observe({
    pool: { threads: 1, queued: 0, queueMax: 1, graphSearches: new BigInt64Array(1) },
    versions: { costs: () => [{ versionId: 'v', bytes: 1, passages: 1, loadMs: 1, ageMs: 1 }], damaged: 0 },
    wanted: () => ['v'],
    store: { root: folder },
    certificate,
  })
  const registries: readonly Registry[] = [
    createGatewayMetrics({
      inFlight: () => 0,
      readiness: {
        dependencies: () => ({
          postgres: { state: 'up' },
          redis: { state: 'up' },
          search: { state: 'up' },
          models: { state: 'up' },
        }),
        knowledgeBases: () => [{ knowledge_base: 'bees', version: null, reason: 'no version is active' }],
      },
      concurrency: { state: () => ({ limit: 1, active: 0, waiting: 0 }) },
      clock,
      searchTier,
      usage: createUsageBoard(),
      refusals: { add: () => undefined },
      database: gateway,
      environment: 'live',
      certificate,
    }).registry,
    node.registry,
    createJobsMetrics({
      database: jobs,
      clock,
      certificate,
      drifts: new Map([['bees', 0]]),
      queues,
      redis: connection.redis,
      store: folder,
      tasks: () => ({ sweep: 0 }),
    }).registry,
    createTraceMetrics(folder).registry,
    createEncoderMetrics(() => 0).registry,
  ]
  return {
    registries,
    async close(): Promise<void> {
      clock.stop()
      searchTier.close()
      for (const queue of queues) await queue.close()
      connection.close()
      await redis.release()
    },
  }
}

/** Names of the series of registries, each with the names of its labels. */
export async function exportedSeries(
  registries: readonly Registry[],
): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const series = new Map<string, Set<string>>()
  const add = (name: string, labels: readonly string[]): void => {
    const known = series.get(name) ?? new Set()
    for (const label of labels) known.add(label)
    series.set(name, known)
  }
  for (const registry of registries)
    for (const metric of await registry.getMetricsAsJSON()) {
      const { labelNames = [] } = registry.getSingleMetric(metric.name) as unknown as { labelNames?: readonly string[] }
      if (String(metric.type) !== 'histogram') add(metric.name, labelNames)
      else {
        add(`${metric.name}_bucket`, [...labelNames, 'le'])
        for (const part of ['sum', 'count']) add(`${metric.name}_${part}`, labelNames)
      }
    }
  return series
}
