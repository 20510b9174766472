import { Queue } from 'bullmq'
import type { Redis } from 'ioredis'
import { QUEUE_BOUNDS } from '#core/queues/bounds.ts'
import { LEDGER_JOB_OPTIONS, LEDGER_QUEUE, QUEUE_PREFIX, jobSpan, type JobPayload } from '#core/queues/ledger-queue.ts'
import type { Log } from '#core/platform/log.ts'
import { openPrimary } from '#core/redis/primary.ts'
import { JOB_BOUNDS } from './bounds.ts'

export const QUEUES = ['build', 'activate', 'trace', 'capture', LEDGER_QUEUE] as const
export type QueueName = (typeof QUEUES)[number]

const kept = {
  removeOnComplete: { count: JOB_BOUNDS.finishedJobsMax, age: JOB_BOUNDS.succeededJobsKeptSeconds },
  removeOnFail: { count: JOB_BOUNDS.finishedJobsMax, age: JOB_BOUNDS.failedJobsKeptSeconds },
  stackTraceLimit: 3,
}

const repeated = {
  attempts: QUEUE_BOUNDS.jobAttemptsMax,
  backoff: { type: 'exponential', delay: QUEUE_BOUNDS.jobRetryFirstMs },
  ...kept,
} as const

/** Attempts, backoff and the number of finished jobs kept. A job id is the id of its row, so a row has one job. */
const JOB_OPTIONS = {
  // The build's row counts its runs and says when the next one begins. Attempts are for a database that does not answer.
  build: repeated,
  activate: repeated,
  trace: repeated,
  ledger: LEDGER_JOB_OPTIONS,
  // A capture that fails waits for the next one of its schedule.
  capture: { attempts: 1, ...kept },
} as const

/**
 * Opens the connection of queues and workers. Commands wait until Redis is usable again instead of failing. A command
 * line sets `failFast`, so that it reports a Redis that it cannot use.
 */
export function openQueueRedis(url: string, log: Log, { failFast = false }: { readonly failFast?: boolean } = {}) {
  return openPrimary(url, { name: 'queues', log, whileAway: failFast ? 'end' : 'wait' })
}

export type JobQueue = Queue<JobPayload>

/** The queue must be closed before its connection. */
export function openQueue(name: QueueName, redis: Redis, log: Log): JobQueue {
  const queue: JobQueue = new Queue(name, {
    connection: redis,
    prefix: QUEUE_PREFIX,
    skipVersionCheck: true,
    defaultJobOptions: JOB_OPTIONS[name],
    streams: { events: { maxLen: JOB_BOUNDS.queueEventsMax } },
  })
  queue.on('error', (error) => log.warn('queue', { queue: name }, error))
  return queue
}

/** Enqueues a build whose row exists and is unfinished; idempotent. A job of it that ended makes room for another. */
export async function enqueueBuild(queue: JobQueue, buildId: string): Promise<void> {
  const job = await queue.getJob(buildId)
  if (job !== undefined && ['completed', 'failed'].includes(await job.getState())) await job.remove()
  await add(queue, buildId, buildId)
}

/** Enqueues an activation whose row exists; idempotent. */
export async function enqueueActivation(queue: JobQueue, activationId: string): Promise<void> {
  await add(queue, activationId, activationId)
}

/**
 * Enqueues the writing of a trace up to a sequence of the version chain; idempotent. A job that failed for good keeps
 * its place until "operator jobs retry".
 */
export async function enqueueTrace(queue: JobQueue, knowledgeBaseId: string, sequence: number): Promise<void> {
  const jobId = `${knowledgeBaseId}-${sequence}`
  const job = await queue.getJob(jobId)
  if (job !== undefined && (await job.getState()) === 'completed') await job.remove()
  await add(queue, knowledgeBaseId, jobId)
}

async function add(queue: JobQueue, id: string, jobId: string): Promise<void> {
  await jobSpan('send', queue.name, {}, (span) =>
    queue.add(queue.name, { id }, { jobId, ...(span && { telemetry: { metadata: span.traceparent } }) }),
  )
}
