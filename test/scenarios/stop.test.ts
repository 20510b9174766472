import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'
import { LEDGER_QUEUE, QUEUE_PREFIX } from '#core/queues/ledger-queue.ts'
import { startGateway, startJobs, startSearchNode } from '#operator/demo/local/stack.ts'
import type { LocalService } from '#operator/demo/local/processes.ts'
import { ANSWERED_QUERY, startTestService, type TestService } from '#test/support/service.ts'
import { ledgerJobsQueued, ledgerRowsOf, remaining, settledLedgerRows } from '#test/support/ledger.ts'
import { failuresOf, startLoad } from '#test/support/load.ts'
import { loadedOn, withSearchNode } from '#test/support/search-node.ts'
import { arrivalOf, startTestProvider, type TestProvider } from '#test/support/embedding-endpoint.ts'
import { CALL_TIMEOUT_MS, until } from '#test/support/until.ts'
import { adjustedNowMs } from '#test/support/clock.ts'

/** Drain period of a gateway; long enough for the load to observe it, also on a busy machine. */
const DRAIN_MS = 3_000

let provider: TestProvider
let service: TestService
let addresses: readonly string[]
let jobs: LocalService
beforeAll(async () => {
  provider = await startTestProvider()
  service = await startTestService({
    gateways: 1,
    searchNodes: 2,
    embedding: 'openai',
    environment: { ...provider.environment, DRAIN_MS: String(DRAIN_MS) },
  })
  addresses = service.searchNodes.map(({ address }) => address)
  jobs = service.jobs
})
afterAll(async () => {
  await service?.stop()
  await provider?.stop()
})

const gone = (process: LocalService): Promise<void> => process.ended.catch(() => undefined)

describe('SIGTERM', () => {
  test(
    'to a gateway under load fails readiness at once, serves with Connection: close, then refuses with ' +
      '503, and finishes what is in flight',
    async () => {
      const caller = await service.createCaller()
      const gateway = service.add(await startGateway(service.settings, addresses, 'gateway-stopped'))
      const load = startLoad(caller, [gateway.baseUrl], { callers: 6, pauseMs: 50, untilRefused: true })
      await load.until('every caller was served', (sent) => sent.length >= 20)
      const query = `${ANSWERED_QUERY} `
      const held = provider.hold(query)
      const inFlight = caller.ask({ query }, { baseUrl: gateway.baseUrl })
      await arrivalOf(held, inFlight)

      const stopping = gateway.stop()
      const readiness = await until('readiness fails', async () => {
        const reply = await fetch(`${gateway.internalUrl}/readyz`)
        return reply.status !== 200 && reply
      })
      expect({ status: readiness.status, body: await readiness.json() }).toMatchObject({
        status: 503,
        body: { status: 'not ready', faults: ['stopping'] },
      })
      await load.until('a caller was served that is told to close its connection', (sent) =>
        sent.some(({ answer }) => answer?.status === 200 && answer.headers.get('connection') === 'close'),
      )
      await load.until(
        'every caller was refused',
        (sent) => sent.filter(({ answer }) => answer?.status !== 200).length === 6,
      )
      held.release()

      expect((await inFlight).retrieved().abstention.decision).toBe('answer')
      expect(await stopping).toBe(0)
      const sent = await load.stop()
      expect(sent.filter(({ answer }) => answer === undefined)).toEqual([])
      for (const { answer } of sent.filter((each) => each.answer?.status !== 200)) {
        expect(answer?.status).toBe(503)
        expect(answer?.error().error).toMatchObject({ code: 'INTERNAL_UNAVAILABLE', retryable: true })
        expect(Number(answer?.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
        expect(answer?.headers.get('connection')).toBe('close')
      }
      const ledger = await settledLedgerRows(service.owner, caller.entitlementId)
      expect(ledger.length).toBe(sent.filter(({ answer }) => answer?.status === 200).length + 1)
      expect(new Set(ledger.map(({ entry }) => entry))).toEqual(new Set(['delivered']))
    },
  )

  test(
    'to a gateway on which connections are open that never sent a whole request ends it cleanly and ' +
      'without waiting for them',
    async () => {
      const gateway = service.add(await startGateway(service.settings, addresses, 'gateway-with-silent-connections'))
      const open = [gateway.baseUrl, gateway.internalUrl].flatMap((url) =>
        ['', 'POST /v1/retrieve HT'].map((bytes) => {
          const socket = connect(Number(new URL(url).port), '127.0.0.1', () => socket.write(bytes))
          return socket.on('error', () => undefined)
        }),
      )
      await Promise.all(open.map((socket) => once(socket, 'connect')))
      expect(await gateway.stop(CALL_TIMEOUT_MS)).toBe(0)
    },
  )
})

describe.concurrent('SIGKILL', () => {
  test(
    'to a gateway in mid-request: the lease is over by the hard deadline, the sweeper refunds, and ' +
      'day and month are restored',
    async ({ expect: expectHere }) => {
      const caller = await service.createCaller({ limits: { concurrency: 1 } })
      const gateway = service.add(await startGateway(service.settings, addresses, 'gateway-killed'))
      const query = `${ANSWERED_QUERY}  `
      const held = provider.hold(query)
      const admittedMs = adjustedNowMs()
      const lost = caller.ask({ query }, { baseUrl: gateway.baseUrl }).catch(() => undefined)
      await arrivalOf(held, lost)
      gateway.signal('SIGKILL')
      await gone(gateway)
      expectHere(await lost).toBeUndefined()
      expectHere((await caller.ask()).error().error.code).toBe('RATE_LIMITED')
      held.release()

      const first = await until('the lease has expired', async () => {
        const answer = await caller.ask()
        return answer.status === 200 && answer
      })
      expectHere(adjustedNowMs() - admittedMs).toBeLessThan(PLATFORM_BOUNDS.hardDeadlineMs + 5_000)
      expectHere(first.retrieved().results.length).toBeGreaterThan(0)
      const ledger = await settledLedgerRows(service.owner, caller.entitlementId, 'lost')
      expectHere(ledger.map(({ entry, charged }) => ({ entry, charged }))).toEqual([
        { entry: 'refunded', charged: false },
        { entry: 'delivered', charged: true },
      ])
      await until('day and month are restored', async () => {
        const answer = await caller.ask()
        const used = (await ledgerRowsOf(service.owner, caller.entitlementId)).length - 1
        const left = remaining(answer.headers)
        return left.day === 1_000_000 - used && left.month === 10_000_000 - used
      })
    },
  )

  test(
    'to the job worker, with its queued ledger jobs lost as well, loses no entry: after its restart ' +
      'the sweeper appends them',
    async ({ expect: expectHere }) => {
      const caller = await service.createCaller()
      jobs.signal('SIGKILL')
      await gone(jobs)
      const answers = await Promise.all(Array.from({ length: 5 }, () => caller.ask()))
      await ledgerJobsQueued(service.settings.redisUrl, answers)
      const redis = new Redis(service.settings.redisUrl)
      await redis.del(await redis.keys(`${QUEUE_PREFIX}:${LEDGER_QUEUE}:*`))
      redis.disconnect()
      expectHere((await ledgerRowsOf(service.owner, caller.entitlementId)).map(({ entry }) => entry)).toEqual(
        answers.map(() => null),
      )
      const again = service.add(await startJobs(service.settings, addresses, 'jobs-again'))
      const ledger = await settledLedgerRows(service.owner, caller.entitlementId)
      expectHere(ledger.map(({ request_id, charged }) => `${request_id} ${charged}`).toSorted()).toEqual(
        answers.map((answer) => `${answer.retrieved().request_id} true`).toSorted(),
      )
      expectHere(again.running()).toBe(true)
    },
  )
})

test(
  'one search node is added to the file of SEARCH_NODES and the others leave it, under load: no request fails, gateway ' +
    'and job worker follow without a restart, and who left may stop at once',
  async () => {
    const caller = await service.createCaller()
    const file = join(service.settings.folder, 'search-nodes')
    const name = (...nodes: readonly string[]): void => writeFileSync(file, `${nodes.join('\n')}\n`)
    name(...addresses)
    const environment = { ...service.settings.environment, DRAIN_MS: '500' }
    const gateway = service.add(await startGateway({ ...service.settings, environment }, [`file:${file}`], 'following'))
    service.add(await startJobs(service.settings, [`file:${file}`], 'jobs-following'))
    const load = startLoad(caller, [gateway.baseUrl], { callers: 4, pauseMs: 20 })
    await load.until('the load runs', (sent) => sent.length >= 40)

    const added = service.add(await startSearchNode(service.settings, 'search-node-added'))
    await until('it has its versions by itself', async () => (await loadedOn(added.address)).length > 0)
    await withSearchNode(added.address, (node) => node.releaseVersion(service.versionId, CALL_TIMEOUT_MS))
    name(...addresses, added.address)
    await until('the job worker has loaded them there', async () => (await loadedOn(added.address)).length > 0)

    name(added.address)
    const nodesOf = async (): Promise<readonly string[]> => {
      const metrics = await (await fetch(`${gateway.internalUrl}/metrics`)).text()
      return [...metrics.matchAll(/^evidence_node_up\{node="([^"]+)"\} 1$/gm)].map(([, node = '']) => node)
    }
    await until('the gateway asks it alone', async () => (await nodesOf()).join() === added.address)
    for (const node of service.searchNodes) node.signal('SIGKILL')
    const since = load.sent.length
    await load.until('it answers alone', (sent) => sent.length > since + 40)
    const sent = await load.stop()
    expect(failuresOf(sent)).toEqual([])
    const metrics = await (await fetch(`${gateway.internalUrl}/metrics`)).text()
    for (const address of addresses) expect(metrics).not.toContain(`evidence_node_seconds_count{node="${address}"}`)
  },
)
