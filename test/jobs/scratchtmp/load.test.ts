import { test } from 'vitest'
import { openDatabase } from '#core/db/pool.ts'
import { createLedgerQueue } from '#core/ledger-queue.ts'
import { openQueue, openQueueRedis } from '#jobs/queues.ts'
import { startJobs } from '#jobs/workers.ts'
import { insertReservations } from '#test/jobs/reservations.ts'
import { createJobsWorld, silent } from '#test/jobs/world.ts'
import { createTestRedis } from '#test/support/redis.ts'
test('load', async () => {
  const world = await createJobsWorld(); const r = await createTestRedis(); const redis = openQueueRedis(r.url, silent)
  const ids = await insertReservations(world.owner, 20000)
  const q = createLedgerQueue(r.url, silent); const lq = openQueue('ledger', redis, silent)
  await new Promise((x) => setTimeout(x, 300))
  let cpu = process.cpuUsage(); let t = performance.now()
  for (let i = 0; i < ids.length; i += 100) { for (const id of ids.slice(i, i + 100)) q.settled(id); await new Promise((x) => setTimeout(x, 5)) }
  while (await lq.getWaitingCount() < 19000) await new Promise((x) => setTimeout(x, 5))
  let u = process.cpuUsage(cpu)
  console.log('produced', await lq.getWaitingCount(), performance.now() - t, 'ms, cpu ms', (u.user + u.system) / 1000)
  cpu = process.cpuUsage(); t = performance.now()
  const jobs = await startJobs({ database: world.service, redis, store: world.store, nodes: [], settle: async () => 'not-open', buildConcurrency: 1, log: silent })
  let n = 0
  while (n < 20000) { await new Promise((x) => setTimeout(x, 50)); n = (await world.owner.query('select count(*)::int n from ledger')).rows[0].n; if (performance.now() - t > 30000) break }
  u = process.cpuUsage(cpu)
  console.log('consumed', n, performance.now() - t, 'ms, cpu ms', (u.user + u.system) / 1000, 'redis', (await redis.info('cpu')).split('\n').slice(1, 3).join(' '))
  await jobs.close(); await q.close(); await lq.close(); redis.disconnect(); await r.release(); await world.stop()
}, 60000)
