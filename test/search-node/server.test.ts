import { credentials, ServerCredentials, status } from '@grpc/grpc-js'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createLog } from '#core/platform/log.ts'
import { openSearchNodeClient, type SearchNodeClient } from '#core/rpc/search-client.ts'
import { createNodeMetrics } from '#search-node/metrics.ts'
import { NodeError } from '#search-node/node-error.ts'
import { createServer, type SearchServer } from '#search-node/server.ts'
import { Versions } from '#search-node/versions.ts'
import { testManifest } from '#test/support/artifact.ts'
import { requestOf } from '#test/support/search.ts'
import { createHeldPool, type HeldPool } from '#test/search-node/threads/held-pool.ts'
import { CALL_TIMEOUT_MS, expectEventually } from '#test/support/until.ts'

const ID = '00000000-0000-4000-8000-000000000001'
const lines: string[] = []
let held: HeldPool
let server: SearchServer
let client: SearchNodeClient

/** The server over real gRPC, in front of one scoring thread that the test holds, with room for one waiting search. */
beforeEach(async () => {
  lines.length = 0
  held = createHeldPool({ threads: 1, queueMax: 1 })
  const versions = new Versions({
    artifactFolder: (versionId) => versionId,
    verify: async (versionId) => {
      if (versionId !== ID)
        throw versionId.endsWith('2')
          ? new NodeError('DATA_LOSS', 'facets.bin is damaged.')
          : new Error('private cause')
      return testManifest(ID)
    },
    openEverywhere: async () => undefined,
    closeEverywhere: async () => undefined,
    onState: () => undefined,
    onDamaged: () => undefined,
  })
  server = createServer({
    pool: held.pool,
    versions,
    metrics: createNodeMetrics(),
    log: createLog('search-node', 'info', (line) => lines.push(line)),
  })
  client = openSearchNodeClient(
    `127.0.0.1:${await server.listen('127.0.0.1:0', ServerCredentials.createInsecure())}`,
    credentials.createInsecure(),
  )
  await client.prepareVersion({ versionId: ID, manifestDigest: Buffer.alloc(32) }, CALL_TIMEOUT_MS)
})
afterEach(async () => {
  client.close()
  await server.close(100)
  await held.end()
})

function search(limit: number, timeoutMs = CALL_TIMEOUT_MS, signal?: AbortSignal) {
  const request = requestOf({ versionId: ID, vector: new Float32Array(8).fill(1), limit })
  const outcome = client.search(request, timeoutMs, signal)
  outcome.catch(() => undefined)
  return outcome
}

const leases = async (): Promise<number | undefined> => (await client.status(CALL_TIMEOUT_MS)).loaded[0]?.leases

test('a full queue is RESOURCE_EXHAUSTED at once, while the searches before it go on', async () => {
  const before = [search(1), search(2)]
  await expectEventually(() => held.pool.queued, 1)
  await expect(search(3)).rejects.toMatchObject({ code: status.RESOURCE_EXHAUSTED })
  await expectEventually(held.started, ['search 1'])
  await held.finish('search 1')
  await expectEventually(held.started, ['search 1', 'search 2'])
  await held.finish('search 2')
  await Promise.allSettled(before)
})

test('a deadline that passes in the queue is DEADLINE_EXCEEDED, and the search never reaches a thread', async () => {
  const running = search(1)
  await expectEventually(held.started, ['search 1'])
  await expect(search(2, 50)).rejects.toMatchObject({ code: status.DEADLINE_EXCEEDED })
  await expectEventually(() => held.pool.queued, 0)
  await held.finish('search 1')
  await Promise.allSettled([running])
  expect(held.started()).toEqual(['search 1'])
})

test('a call cancelled in the queue is dropped; one that runs keeps its lease until the thread is done', async () => {
  const [runningCaller, waitingCaller] = [new AbortController(), new AbortController()]
  const running = search(1, CALL_TIMEOUT_MS, runningCaller.signal)
  const waiting = search(2, CALL_TIMEOUT_MS, waitingCaller.signal)
  await expectEventually(leases, 2)
  waitingCaller.abort()
  runningCaller.abort()
  await expect(waiting).rejects.toMatchObject({ code: status.CANCELLED })
  await expect(running).rejects.toMatchObject({ code: status.CANCELLED })
  await expectEventually(leases, 1)
  await held.finish('search 1')
  await expectEventually(leases, 0)
  expect(held.started()).toEqual(['search 1'])
})

test('a release waits for the search that runs', async () => {
  const running = search(1)
  await expectEventually(leases, 1)
  const released = client.releaseVersion(ID, CALL_TIMEOUT_MS)
  await expectEventually(async () => (await client.status(CALL_TIMEOUT_MS)).loaded[0]?.state, 'releasing')
  await expect(search(2)).rejects.toMatchObject({ code: status.FAILED_PRECONDITION })
  await held.finish('search 1')
  await Promise.allSettled([running])
  expect(await released).toBe(true)
})

test('a refused artifact is DATA_LOSS with the reason, and is logged', async () => {
  await expect(
    client.prepareVersion({ versionId: ID.replace(/1$/, '2'), manifestDigest: Buffer.alloc(32) }, CALL_TIMEOUT_MS),
  ).rejects.toMatchObject({ code: status.DATA_LOSS, details: 'facets.bin is damaged.' })
  expect(lines.some((line) => line.includes('artifact refused') && line.includes('facets.bin'))).toBe(true)
})

test('what nobody foresaw is INTERNAL; its cause goes to the log alone', async () => {
  const failed = search(99)
  await expectEventually(held.started, ['search 99'])
  await held.finish('search 99')
  await expect(failed).rejects.toMatchObject({
    code: status.INTERNAL,
    details: 'The search node failed; ask another node.',
  })
  const refused = client.prepareVersion(
    { versionId: ID.replace(/1$/, '3'), manifestDigest: Buffer.alloc(32) },
    CALL_TIMEOUT_MS,
  )
  await expect(refused).rejects.toMatchObject({
    code: status.INTERNAL,
    details: expect.not.stringContaining('private'),
  })
  expect(lines.some((line) => line.includes('private cause'))).toBe(true)
})

test.each([
  { versionId: 'no id', manifestDigest: Buffer.alloc(32) },
  { versionId: ID, manifestDigest: Buffer.alloc(31) },
])('a request to prepare that names no version is INVALID_ARGUMENT', async (request) => {
  await expect(client.prepareVersion(request, CALL_TIMEOUT_MS)).rejects.toMatchObject({ code: status.INVALID_ARGUMENT })
})
