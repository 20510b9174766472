import { test, vi } from 'vitest'
import { openLimiter } from '#core/limits/limiter.ts'
import { createLog } from '#core/platform/log.ts'
import { startOwnRedis, startReplica, withRedis } from '#test/support/redis.ts'
import { until } from '#test/support/until.ts'

vi.setConfig({ testTimeout: 60_000 })
const silent = createLog('test', 'silent')

test('a server that was demoted to replica is left, and taken again once it is the primary', async () => {
  const primary = await startOwnRedis()
  const replica = await startReplica(primary)
  const limiter = openLimiter(primary.url, silent)
  try {
    await until('it is used', 10_000, async () => limiter.runId() !== undefined)
    await withRedis(primary.url, (client) => client.replicaof('127.0.0.1', replica.port))
    await until('it is left', 10_000, async () => limiter.runId() === undefined)
    await withRedis(primary.url, (client) => client.replicaof('NO', 'ONE'))
    await until('it is used again', 10_000, async () => limiter.runId() !== undefined)
  } finally {
    limiter.close()
    await replica.stop()
    await primary.stop()
  }
})
