import { Worker } from 'bullmq'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { QUEUE_PREFIX } from '#core/queues/ledger-queue.ts'
import { createLog } from '#core/platform/log.ts'
import { openQueue, openQueueRedis } from '#jobs/platform/queues.ts'
import { openTestRedis } from '#test/support/redis.ts'
import type { TestRedis } from '#test/support/redis.ts'
import { openOperatorHarness } from '#test/support/operator-cli.ts'
import type { OperatorHarness } from '#test/support/operator-cli.ts'

const quiet = createLog('test', 'silent')
let harness: OperatorHarness
let redis: TestRedis

beforeAll(async () => {
  redis = await openTestRedis()
  harness = await openOperatorHarness({ REDIS_URL: redis.url })
})
afterAll(async () => {
  await harness.close()
  await redis.release()
})

test('a failed job is listed with its reason and runs again when asked', async () => {
  const connection = openQueueRedis(redis.url, quiet)
  const queue = openQueue('maintenance', connection.redis, quiet)
  const failing = new Worker('maintenance', () => Promise.reject(new Error('the disk is full')), {
    connection: connection.redis,
    prefix: QUEUE_PREFIX,
  })
  try {
    const failed = new Promise((resolve) => failing.once('failed', resolve))
    await queue.add('sweep', { id: 'sweep' }, { jobId: 'sweep-1' })
    await failed
    await failing.close()
    const states = z
      .object({ queues: z.array(z.object({ queue: z.string(), failed: z.int() })), failed: z.array(z.unknown()) })
      .parse(await harness.cli.json('jobs', 'list'))
    expect(states.queues.find(({ queue: name }) => name === 'maintenance')?.failed).toBe(1)
    expect(states.failed).toMatchObject([
      { queue: 'maintenance', id: 'sweep-1', attempts: 1, reason: 'the disk is full' },
    ])
    expect(await harness.cli.json('jobs', 'show', 'maintenance', 'sweep-1')).toMatchObject({ state: 'failed' })
    expect((await harness.cli.run('jobs', 'retry', 'maintenance', 'sweep-1')).code).toBe(0)
    const again = await harness.cli.run('jobs', 'retry', 'maintenance', 'sweep-1')
    expect(again).toMatchObject({ code: 1, stderr: 'The job is waiting, not failed: there is nothing to retry.\n' })
    const unknown = await harness.cli.run('jobs', 'show', 'maintenance', 'sweep-2')
    expect(unknown.stderr).toMatch(/^The queue maintenance has no job "sweep-2": finished jobs are forgotten/)
  } finally {
    await failing.close()
    await queue.close()
    connection.close()
  }
})
