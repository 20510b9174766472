import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, describe, expect, test } from 'vitest'
import { QUEUE_BOUNDS } from '#core/queues/bounds.ts'
import { z } from 'zod'
import { openLedgerQueue } from '#core/queues/ledger-queue.ts'
import { createLog } from '#core/platform/log.ts'
import { openQueue, openQueueRedis, type JobQueue } from '#jobs/platform/queues.ts'
import { startOwnRedis } from '#test/support/redis.ts'
import { Redis } from 'ioredis'
import { until } from '#test/support/until.ts'

const redis = await startOwnRedis()
afterAll(() => redis.stop())

function recordedLog(): { readonly log: ReturnType<typeof createLog>; readonly lines: string[] } {
  const lines: string[] = []
  return { log: createLog('test', 'warn', (line) => lines.push(line)), lines }
}

/** Ids in the jobs that wait. */
async function queuedIds(jobs: JobQueue): Promise<readonly string[]> {
  const payload = z.object({ ids: z.array(z.string()) })
  return (await jobs.getJobs(['waiting'])).flatMap((job) => payload.parse(job.data).ids)
}

describe('the ledger queue', () => {
  test('drops ids with a warning while Redis is away, never throws, and works again once Redis is back', async () => {
    const { log, lines } = recordedLog()
    const connection = openQueueRedis(redis.url, createLog('test', 'silent'))
    const jobs = openQueue('ledger', connection.redis, log)
    const queue = openLedgerQueue(redis.url, log)
    let sent = 0
    const arrives = async (): Promise<boolean> => {
      queue.settled(`before-${sent++}`)
      await sleep(QUEUE_BOUNDS.ledgerCollectMs * 2)
      return (await jobs.getWaitingCount()) > 0
    }
    await until('a job arrives', arrives)
    await redis.kill()
    for (let n = 0; n < QUEUE_BOUNDS.ledgerWaitingMax * 2; n++) queue.settled(`away-${n}`)
    await until('the loss is told', () => lines.some((line) => line.includes('ledger job dropped')))
    await redis.restart()
    await connection.redis.flushdb()
    await until('a job arrives again', arrives)
    await queue.close()
    await jobs.close()
    connection.close()
    expect(lines.join('')).not.toContain('away-')
  })

  test('sends what it holds before it closes', async () => {
    const connection = new Redis(redis.url)
    const jobs = openQueue('ledger', connection, createLog('test', 'silent'))
    const queue = openLedgerQueue(redis.url, createLog('test', 'silent'))
    await until('the connection is there', async () => {
      queue.settled('probe')
      await sleep(QUEUE_BOUNDS.ledgerCollectMs * 2)
      return (await queuedIds(jobs)).includes('probe')
    })
    for (let n = 0; n < 450; n++) queue.settled(`last-${n}`)
    await queue.close()
    expect(await queuedIds(jobs)).toContain('last-449')
    await jobs.close()
    connection.disconnect()
  })
})

test('a Redis that may evict jobs is refused in one sentence', async () => {
  using ending = new DisposableStack()
  const connection = ending.adopt(new Redis(redis.url), (it) => it.disconnect())
  const silent = createLog('test', 'silent')
  await connection.config('SET', 'maxmemory-policy', 'allkeys-lru')
  const queues = openQueueRedis(redis.url, silent)
  await expect(queues.usable()).rejects.toThrow('maxmemory-policy is allkeys-lru')
  await connection.config('SET', 'maxmemory-policy', 'noeviction')
  await until('it is used', () => queues.runId() !== undefined)
  queues.close()
})
