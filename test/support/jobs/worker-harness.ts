import { afterAll, afterEach } from 'vitest'
import { openQueue, openQueueRedis } from '#jobs/queues.ts'
import type { JobQueue } from '#jobs/queues.ts'
import { startJobs } from '#jobs/workers.ts'
import type { Jobs, JobsDeps } from '#jobs/workers.ts'
import { openTestRedis } from '#test/support/redis.ts'
import type { TestRedis } from '#test/support/redis.ts'
import { silent, smallSource, startJobsHarness } from './harness.ts'
import type { JobsHarness } from './harness.ts'

export interface WorkerHarness {
  readonly harness: JobsHarness
  readonly redis: TestRedis
  /** The connection of the queues. */
  readonly queueRedis: JobsDeps['redis']
  readonly builds: JobQueue
  readonly knowledgeBaseId: string
  readonly importId: string
  startWorker(change?: Partial<JobsDeps>): Promise<Jobs>
}

/** An import to build, and job workers that end after the test that started them. Closes after the calling file. */
export async function openWorkerHarness(): Promise<WorkerHarness> {
  const harness = await startJobsHarness()
  const redis = await openTestRedis()
  const connection = openQueueRedis(redis.url, silent)
  const builds = openQueue('build', connection.redis, silent)
  const knowledgeBaseId = await harness.createKnowledgeBase()
  const importId = await harness.importFolder(knowledgeBaseId, smallSource)
  const running: Jobs[] = []
  afterEach(async () => {
    await Promise.all(running.splice(0).map((jobs) => jobs.close()))
  })
  afterAll(async () => {
    await builds.close()
    connection.close()
    await redis.release()
    await harness.stop()
  })
  return {
    harness,
    redis,
    queueRedis: connection.redis,
    builds,
    knowledgeBaseId,
    importId,
    async startWorker(change = {}) {
      const jobs = await startJobs({
        database: harness.service,
        redis: connection.redis,
        store: harness.store,
        nodes: [],
        counters: { nowMs: async () => Date.now() },
        settlement: { refundOverdue: async () => 'gone' },
        buildConcurrency: 1,
        buildHeapMb: 512,
        vectorCacheBytesMax: 0,
        log: silent,
        environment: harness.environment,
        ...change,
      })
      running.push(jobs)
      return jobs
    },
  }
}
