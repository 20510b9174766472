import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import { BOUNDS } from '#core/platform/bounds.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { createLog } from '#core/platform/log.ts'
import { openQueue, openQueueRedis } from '#jobs/queues.ts'
import type { JobQueue, QueueName } from '#jobs/queues.ts'

/** The commands report failures in their own sentence, so the log is silent. */
const quiet = createLog('operator', 'silent')

/**
 * Opens queues for one command and closes them again.
 * @throws OperatorError before any work when Redis does not answer, so that no request is left incomplete.
 */
export async function withQueues<T>(
  redisUrl: string,
  work: (open: (name: QueueName) => JobQueue) => Promise<T>,
): Promise<T> {
  const redis = openQueueRedis(redisUrl, quiet, { failFast: true })
  const queues = new Map<QueueName, JobQueue>()
  try {
    await assertAnswers(redis)
    return await work((name) => {
      const queue = queues.get(name) ?? openQueue(name, redis, quiet)
      queues.set(name, queue)
      return queue
    })
  } finally {
    for (const queue of queues.values()) await queue.close().catch(() => undefined)
    redis.disconnect()
  }
}

async function assertAnswers(redis: Redis): Promise<void> {
  const answered = new AbortController()
  const tooLate = sleep(BOUNDS.redisCommandTimeoutMs * 3, undefined, { signal: answered.signal }).then(() => {
    throw new Error('Redis took too long')
  })
  try {
    await Promise.race([redis.ping(), tooLate])
  } catch (cause) {
    throw new OperatorError(
      'Redis does not answer: check that it runs and that REDIS_URL names its host, port and password.',
      { cause },
    )
  } finally {
    tooLate.catch(() => undefined)
    answered.abort()
  }
}
