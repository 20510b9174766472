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
import type { DependencyState } from '#gateway/dependencies.ts'
import { openQueue, openQueueRedis, QUEUES } from '#jobs/platform/queues.ts'

const quiet = createLog('test', 'silent')

/** What the parts of processes say of themselves; a test changes it to that of a fault. */
export const SAID = {
  reason: null as string | null,
  search: { state: 'up' } as DependencyState,
  waiting: 0,
  queued: 0,
  isLoaded: true,
  damaged: 0,
  ageMs: 0,
  drift: 0,
  encoding: 0,
  clockMs: 0,
}

/**
 * The registries of every process as its main.ts makes them, on a Postgres and a Redis, without the process.
 * @param nodes addresses of search nodes. @param redisUrl of another Redis than a database of the run's own.
 */
export async function exportedRegistries(
  folder: string,
  certificate: string,
  { said = { ...SAID }, nodes = '127.0.0.1:1', redisUrl = '' } = {},
) {
  const { owner, gateway, jobs } = await openTestPools()
  const redis = redisUrl === '' ? await openTestRedis() : { url: redisUrl, release: () => Promise.resolve() }
  const connection = openQueueRedis(redis.url, quiet)
  await connection.usable()
  const queues = QUEUES.map((name) => openQueue(name, connection.redis, quiet))
  const clock = await startClockCheck(
    { postgres: () => Promise.resolve(Date.now() + said.clockMs), redis: () => Promise.resolve(Date.now()) },
    quiet,
  )
  const searchTier = await openSearchTier(nodes, { ...PLAINTEXT, SEARCH_PLAINTEXT: 'allow' }, quiet)
  const usage = createUsageBoard()
  const node = createNodeMetrics()
  const cost = { versionId: 'v', bytes: 1, passages: 1, loadMs: 1, ageMs: 1 }
  const says = <T extends object>(read: () => T): T => new Proxy({} as T, { get: (_, key) => Reflect.get(read(), key) })
  node.observe({
    pool: says(() => ({ threads: 1, queued: said.queued, queueMax: 10, graphSearches: new BigInt64Array(1) })),
    versions: says(() => ({ costs: () => (said.isLoaded ? [cost] : []), damaged: said.damaged })),
    wanted: () => ['v'],
    store: { root: folder },
    certificate,
  })
  const gatewayMetrics = createGatewayMetrics({
    inFlight: () => 0,
    readiness: {
      dependencies: () => ({
        postgres: { state: 'up' },
        redis: { state: 'up' },
        search: said.search,
        models: { state: 'up' },
      }),
      knowledgeBases: () => [{ knowledge_base: 'bees', version: null, reason: said.reason }],
    },
    concurrency: { state: () => ({ limit: 1, active: 0, waiting: said.waiting }) },
    clock,
    searchTier,
    usage,
    refusals: { add: () => undefined },
    database: gateway,
    environment: 'live',
    certificate,
  })
  const registries: readonly Registry[] = [
    gatewayMetrics.registry,
    node.registry,
    createJobsMetrics({
      database: jobs,
      clock,
      certificate,
      drifts: { [Symbol.iterator]: () => new Map([['bees', said.drift]])[Symbol.iterator]() } as Map<string, number>,
      queues,
      redis: connection.redis,
      store: folder,
      tasks: () => ({ sweep: said.ageMs }),
    }).registry,
    createTraceMetrics(folder).registry,
    createEncoderMetrics(() => said.encoding).registry,
  ]
  return {
    registries,
    finished: gatewayMetrics.finished,
    owner,
    gateway,
    queues,
    connection: connection.redis,
    searchTier,
    usage,

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
