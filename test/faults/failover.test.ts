import { afterAll, beforeAll, expect, test } from 'vitest'
import { LEDGER_QUEUE, QUEUE_PREFIX } from '#core/queues/ledger-queue.ts'
import type { LocalRedis } from '#operator/demo/local/redis.ts'
import { startGateway, startJobs } from '#operator/demo/local/stack.ts'
import type { Answer } from '#test/support/http.ts'
import { commandLine } from '#test/support/operator-cli.ts'
import {
  PRIMARY_SETTINGS,
  replicaKnown,
  startClusterNode,
  startOwnRedis,
  startReplica,
  startSentinel,
  withRedis,
} from '#test/support/redis.ts'
import type { TestSentinel } from '#test/support/redis.ts'
import { ledgerJobsQueued, ledgerRowsOf, remaining, settledLedgerRows } from '#test/support/ledger.ts'
import { startTestService, type TestService } from '#test/support/service.ts'
import { until } from '#test/support/until.ts'

const DAY_ALLOWANCE = 6

let primary: LocalRedis
let replica: LocalRedis
let sentinel: TestSentinel
let service: TestService
beforeAll(async () => {
  primary = await startOwnRedis(PRIMARY_SETTINGS)
  replica = await startReplica(primary)
  sentinel = await startSentinel(primary)
  await replicaKnown(sentinel)
  service = await startTestService({ redisUrl: sentinel.urlOf(2) })
})
afterAll(async () => {
  await service?.stop()
  await sentinel?.stop()
  await replica?.stop()
  await primary?.stop()
})

const addresses = (): readonly string[] => service.searchNodes.map(({ address }) => address)
const served = (ask: () => Promise<Answer>): Promise<Answer> =>
  until('requests are decided again', async () => {
    const answer = await ask()
    return answer.status !== 503 && answer
  })

/** As if the primary had died before it sent its last writes: the counts are gone, all else is there. */
async function loseCounts(): Promise<number> {
  return withRedis(replica.urlOf(2), async (client) => {
    await client.config('SET', 'replica-read-only', 'no')
    const keys = await client.keys('*:counts')
    return keys.length === 0 ? 0 : client.del(keys)
  })
}

test('after a failover of Redis the gateway admits again; what the new primary missed is counted again', async () => {
  const caller = await service.createCaller({ limits: { requests_per_day: DAY_ALLOWANCE } })
  for (let used = 0; used < 3; used++) expect((await caller.ask()).status).toBe(200)
  await primary.kill()
  expect(await loseCounts()).toBeGreaterThan(0)
  const first = await served(() => caller.ask())
  expect({ status: first.status, day: remaining(first.headers).day }).toEqual({ status: 200, day: 2 })
  expect((await caller.ask()).status).toBe(200)
  expect((await caller.ask()).status).toBe(200)
  expect((await caller.ask()).error().error.code).toBe('QUOTA_EXHAUSTED')
  expect((await ledgerRowsOf(service.owner, caller.entitlementId)).length).toBe(DAY_ALLOWANCE)
  await settledLedgerRows(service.owner, caller.entitlementId, 'lost')
})

test('after the failover the job worker takes ledger jobs from the new primary', async () => {
  const caller = await service.createCaller()
  service.jobs.signal('SIGSTOP')
  const answers = [await served(() => caller.ask()), await caller.ask()]
  await ledgerJobsQueued(replica.urlOf(2), answers).finally(() => service.jobs.signal('SIGCONT'))
  await until('the worker has taken them', () =>
    withRedis(replica.urlOf(2), async (client) => {
      const ids = answers.map((answer) => answer.retrieved().request_id.slice('req_'.length))
      return (await client.exists(ids.map((id) => `${QUEUE_PREFIX}:${LEDGER_QUEUE}:${id}`))) === 0
    }),
  )
  const ledger = await settledLedgerRows(service.owner, caller.entitlementId)
  expect(ledger.map(({ entry }) => entry)).toEqual(['delivered', 'delivered'])
})

test('a gateway on a demoted Redis answers 503, names the fault, and admits once it is the primary again', async () => {
  const own = await startOwnRedis()
  const gateway = await startGateway({ ...service.settings, redisUrl: own.url }, addresses(), 'gateway-demoted')
  try {
    const caller = await service.createCaller({ limits: { requests_per_day: 3 } })
    const ask = (): Promise<Answer> => caller.ask({}, { baseUrl: gateway.baseUrl })
    expect((await ask()).status).toBe(200)
    await withRedis(own.url, (client) => client.replicaof('127.0.0.1', 1))
    const refused = await until('requests are refused', async () => {
      const answer = await ask()
      return answer.status !== 200 && answer
    })
    expect(refused.error().error).toMatchObject({ code: 'INTERNAL_UNAVAILABLE', retryable: true })
    await until('the fault is named', async () =>
      (await (await fetch(`${gateway.internalUrl}/readyz`)).text()).includes('is a replica, not the primary'),
    )
    const before = (await ledgerRowsOf(service.owner, caller.entitlementId)).length
    await withRedis(own.url, (client) => client.replicaof('NO', 'ONE'))
    const admitted = await served(ask)
    expect(3 - remaining(admitted.headers).day).toBe(before + 1)
  } finally {
    await gateway.stop()
    await own.stop()
  }
})

test('gateway, job worker and command line end with one sentence on a Redis Cluster', async () => {
  const cluster = await startClusterNode()
  try {
    const settings = { ...service.settings, redisUrl: cluster.url }
    const sentence = /ended unexpectedly \(code 1\)[^]*Redis Cluster is not supported: set REDIS_URL to/
    await expect(startGateway(settings, addresses(), 'gateway-cluster')).rejects.toThrow(sentence)
    await expect(startJobs(settings, addresses(), 'jobs-cluster')).rejects.toThrow(sentence)
    const cli = commandLine({ DATABASE_URL: service.database.operatorUrl, REDIS_URL: cluster.url })
    expect(await cli.run('jobs', 'list')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^Redis Cluster is not supported: [^\n]+\n$/) as string,
    })
  } finally {
    await cluster.stop()
  }
})
