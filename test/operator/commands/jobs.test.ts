import { Worker } from 'bullmq'
import { afterAll, expect, test } from 'vitest'
import { QUEUE_PREFIX } from '#core/queues/ledger-queue.ts'
import { createLog } from '#core/platform/log.ts'
import { openQueue, openQueueRedis } from '#jobs/platform/queues.ts'
import { openTestRedis } from '#test/support/redis.ts'
import { openOperatorHarness } from '#test/support/operator-cli.ts'

const quiet = createLog('test', 'silent')
const redis = await openTestRedis()
const harness = await openOperatorHarness({ REDIS_URL: redis.url })
const { cli } = harness
afterAll(() => redis.release())

test('a failed job is listed with its reason and runs again when asked', async () => {
  const connection = openQueueRedis(redis.url, quiet)
  const queue = openQueue('ledger', connection.redis, quiet)
  const failing = new Worker('ledger', () => Promise.reject(new Error('the disk is full')), {
    connection: connection.redis,
    prefix: QUEUE_PREFIX,
  })
  await using ending = new AsyncDisposableStack()
  ending.defer(async () => connection.close())
  ending.defer(() => queue.close())
  ending.defer(() => failing.close())
  const failed = new Promise((resolve) => failing.once('failed', resolve))
  await queue.add('append', { id: 'append' }, { jobId: 'append-1', attempts: 1 })
  await failed
  await failing.close()
  expect(await cli.json('jobs list')).toMatchObject({
    queues: expect.arrayContaining([expect.objectContaining({ queue: 'ledger', failed: 1 })]),
    failed: [{ queue: 'ledger', id: 'append-1', attempts: 1, reason: 'the disk is full' }],
  })
  expect(await cli.json('jobs show ledger append-1')).toMatchObject({ state: 'failed' })
  expect((await cli.run('jobs retry ledger append-1')).code).toBe(0)
  const waiting = 'The job is waiting, not failed: there is nothing to retry.\n'
  expect(await cli.refused('jobs retry ledger append-1')).toBe(waiting)
  expect(await cli.refused('jobs show ledger append-2')).toMatch(
    /^The queue ledger has no job "append-2": finished jobs are forgotten/,
  )
})
