import { Queue } from 'bullmq'
import { Redis } from 'ioredis'
import { BOUNDS } from '#core/platform/bounds.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { LEDGER_JOB_OPTIONS, LEDGER_QUEUE, QUEUE_PREFIX } from '#core/queues/ledger-queue.ts'
import type { JobPayload } from '#core/queues/ledger-queue.ts'
import type { Log } from '#core/platform/log.ts'

export const QUEUES = ['build', 'activate', LEDGER_QUEUE, 'maintenance'] as const
export type QueueName = (typeof QUEUES)[number]

const kept = {
  removeOnComplete: { count: BOUNDS.finishedJobsMax, age: BOUNDS.succeededJobsKeptSeconds },
  removeOnFail: { count: BOUNDS.finishedJobsMax, age: BOUNDS.failedJobsKeptSeconds },
  stackTraceLimit: 3,
}

/** Attempts, backoff and the number of finished jobs kept. A job id is the id of its row, so a row has one job. */
const JOB_OPTIONS = {
  build: {
    attempts: BOUNDS.buildAttemptsMax,
    backoff: { type: 'exponential', delay: BOUNDS.buildRetryFirstMs },
    ...kept,
  },
  activate: {
    attempts: BOUNDS.jobAttemptsMax,
    backoff: { type: 'exponential', delay: BOUNDS.jobRetryFirstMs },
    ...kept,
  },
  ledger: LEDGER_JOB_OPTIONS,
  maintenance: {
    attempts: 1,
    removeOnComplete: true,
    removeOnFail: { count: BOUNDS.failedMaintenanceJobsMax },
    stackTraceLimit: 3,
  },
} as const

/**
 * Opens the connection of queues and workers. Commands wait until Redis is reachable again instead of failing. A
 * command line sets `failFast`, so that it reports an unreachable Redis.
 */
export function openQueueRedis(
  url: string,
  log: Log,
  { failFast = false }: { readonly failFast?: boolean } = {},
): Redis {
  const redis = new Redis(url, {
    maxRetriesPerRequest: failFast ? 0 : null,
    connectTimeout: BOUNDS.redisCommandTimeoutMs * 2,
    retryStrategy: (times) => (failFast ? null : Math.min(times * 100, BOUNDS.redisReconnectMaxMs)),
  })
  redis.on('error', (error) => log.warn('queue connection', {}, error))
  return redis
}

/** @throws OperatorError when Redis may evict keys, since an evicted key is a lost job. */
export async function assertNothingEvicted(redis: Redis): Promise<void> {
  const policy = /^maxmemory_policy:(\S+)/m.exec(await redis.info('memory'))?.[1]
  if (policy !== 'noeviction')
    throw new OperatorError(
      `Redis may evict jobs (maxmemory-policy is ${policy ?? 'unknown'}): set "maxmemory-policy ` +
        'noeviction" and start again.',
    )
}

export type JobQueue = Queue<JobPayload>

/** The queue must be closed before its connection. */
export function openQueue(name: QueueName, redis: Redis, log: Log): JobQueue {
  const queue: JobQueue = new Queue(name, {
    connection: redis,
    prefix: QUEUE_PREFIX,
    skipVersionCheck: true,
    defaultJobOptions: JOB_OPTIONS[name],
    streams: { events: { maxLen: BOUNDS.queueEventsMax } },
  })
  queue.on('error', (error) => log.warn('queue', { queue: name }, error))
  return queue
}

/** Enqueues a build whose row exists; idempotent. */
export async function enqueueBuild(queue: JobQueue, buildId: string): Promise<void> {
  await queue.add('build', { id: buildId }, { jobId: buildId })
}

/** Enqueues an activation whose row exists; idempotent. */
export async function enqueueActivation(queue: JobQueue, activationId: string): Promise<void> {
  await queue.add('activate', { id: activationId }, { jobId: activationId })
}
