import type { Redis } from 'ioredis'
import { createLog } from '#core/platform/log.ts'
import { openQueue, openQueueRedis, type JobQueue, type QueueName } from '#jobs/platform/queues.ts'

/** The commands report failures in their own sentence, so the log is silent. */
const quiet = createLog('operator', 'silent')

/**
 * Opens queues for one command and closes them again.
 * @throws OperatorError before any work when Redis does not answer or cannot be used, so that no request is left
 * incomplete.
 */
export async function withQueues<T>(
  redisUrl: string,
  work: (open: (name: QueueName) => JobQueue, redis: Redis) => Promise<T>,
): Promise<T> {
  return withQueueRedis(redisUrl, async (redis) => {
    const queues = new Map<QueueName, JobQueue>()
    try {
      return await work((name) => {
        const queue = queues.get(name) ?? openQueue(name, redis, quiet)
        queues.set(name, queue)
        return queue
      }, redis)
    } finally {
      for (const queue of queues.values()) await queue.close().catch(() => undefined)
    }
  })
}

/** Connects for one command. @throws OperatorError before any work when Redis does not answer or cannot be used. */
export async function withQueueRedis<T>(redisUrl: string, work: (redis: Redis) => Promise<T>): Promise<T> {
  using opened = new DisposableStack()
  const primary = opened.adopt(openQueueRedis(redisUrl, quiet, { failFast: true }), (it) => it.close())
  await primary.usable()
  return await work(primary.redis)
}
