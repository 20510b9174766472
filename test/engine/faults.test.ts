import { credentials, status } from '@grpc/grpc-js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { type EngineRequest, anyReply } from '#core/engine/client.ts'
import { engineEnvironment } from '#core/engine/settings.ts'
import { contentFault, lookAt } from '#core/engine/index-check.ts'
import type { EngineDescription } from '#core/index/engine/description.ts'
import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'
import { isGrpcError, openSearchNodeClient, type SearchNodeClient } from '#core/rpc/search-client.ts'
import type { SearchNode } from '#search-node/node.ts'
import { adjustedNowMs } from '#test/support/clock.ts'
import { settledLedgerRows } from '#test/support/ledger.ts'
import { questionOn, queryNear, seededRandom, wordedRows } from '#test/support/passages.ts'
import { startNodeInProcess } from '#test/support/search-node.ts'
import { requestOf } from '#test/support/search.ts'
import { startTestService } from '#test/support/service.ts'
import { CALL_TIMEOUT_MS, expectEventually, until } from '#test/support/until.ts'
import { engineArtifact, publicKeyDer, startTestCluster, type EngineArtifact, type TestCluster } from './version.ts'
import { folderOfFile } from '#test/support/folder.ts'

/** More than an engine may take for one search, on a busy machine. */
const IN_TIME_MS = 15_000
const DIMENSIONS = 16
const rows = wordedRows({ rows: 600, dimensions: DIMENSIONS, seed: 2, clusters: 12 })
const random = seededRandom(5)
const asked = { text: questionOn(3, random), vector: queryNear(rows, 30, random), limit: 10 }

let cluster: TestCluster
const store = folderOfFile()
let node: SearchNode
let client: SearchNodeClient
let made = 0
beforeAll(async () => {
  cluster = await startTestCluster()
  node = await startNodeInProcess(store, publicKeyDer, cluster.settings, { lookEveryMs: 200 })
  client = openSearchNodeClient(`127.0.0.1:${node.port}`, credentials.createInsecure())
})
afterAll(async () => {
  client.close()
  await node.stop()
})

/** A version that the node has loaded, and the reply to the question. A refusal because of a lost node is repeated. */
async function loaded(shards: number): Promise<EngineArtifact & { readonly right: Reply }> {
  const written = await engineArtifact(cluster.client, rows, shards, store, `version ${made++}`)
  const right = await until('the version is served', async () => {
    const reply = await prepare(written).then(() => ask(written), codeOf)
    return reply !== 'UNAVAILABLE' && reply
  })
  expect(right).toHaveLength(10)
  return { ...written, right }
}

const prepare = ({ versionId, manifestDigest }: EngineArtifact): Promise<unknown> =>
  client.prepareVersion({ versionId, manifestDigest }, CALL_TIMEOUT_MS)

/** Ids of the passages, or the status of the refusal. */
type Reply = readonly string[] | string

async function ask({ versionId }: Pick<EngineArtifact, 'versionId'>, of = client): Promise<Reply> {
  return await of
    .search(requestOf({ versionId, ...asked }), IN_TIME_MS)
    .then(({ passages }) => passages.map(({ chunkId }) => chunkId), codeOf)
}

const codeOf = (error: unknown): string => (isGrpcError(error) ? (status[error.code] ?? '') : String(error))

const send = (request: EngineRequest): Promise<unknown> => cluster.client.request(request, anyReply)

async function setIndex({ engine }: Pick<EngineArtifact, 'engine'>, settings: object): Promise<void> {
  await send({ method: 'PUT', path: `/${engine.index}/_settings`, body: settings })
}

const healthSchema = z.object({ status: z.string(), number_of_nodes: z.int() })

/** Waits until so many nodes follow one manager, which writes need, and until the cluster has a status, if it is named. */
const joined = (nodes: number, wanted?: 'green'): Promise<boolean> =>
  until(`${nodes} nodes follow one manager, and are ${wanted ?? 'of any status'}`, async (seen) => {
    const health = cluster.client.request({ method: 'GET', path: '/_cluster/health' }, healthSchema)
    const reply = await health.catch(() => undefined)
    seen(reply)
    return reply?.number_of_nodes === nodes && (wanted === undefined || reply.status === wanted)
  })

const green = (): Promise<boolean> => joined(3, 'green')

const partialSchema = z.object({ _shards: z.object({ total: z.int(), successful: z.int(), failed: z.int() }) })

test('a dead shard is a refusal, although the engine replies with what the others hold', async () => {
  const version = await loaded(3)
  await setIndex(version, { index: { number_of_replicas: 0 } })
  await green()
  await cluster.cluster.stopNode(2)
  await expectEventually(async () => {
    const query = { allow_partial_search_results: true }
    const path = `/${version.engine.index}/_search`
    const { _shards } = await cluster.client.request({ method: 'GET', path, query }, partialSchema)
    return _shards.successful < _shards.total
  }, true)
  expect(await ask(version)).toBe('UNAVAILABLE')
  await cluster.cluster.startNode(2)
  await expectEventually(() => ask(version), version.right)
})

test('while a node is lost and comes back, each reply is the right one or a refusal', async () => {
  const version = await loaded(1)
  const replies: Reply[] = []
  const ended = new AbortController()
  const asking = (async () => {
    while (!ended.signal.aborted) replies.push(await ask(version))
  })()
  try {
    for (const lost of [1, 2]) {
      await cluster.cluster.stopNode(lost)
      await expectEventually(() => ask(version), version.right)
      await joined(2)
      // Built while a node is away, which then comes back with files of before.
      const other = await loaded(1)
      await cluster.cluster.startNode(lost)
      await green()
      const said = await until('the other version is served', async () => {
        const reply = await ask(other)
        return reply !== 'UNAVAILABLE' && reply
      })
      expect(said).toEqual(other.right)
    }
  } finally {
    ended.abort()
    await asking
  }
  const wrong = replies.filter(
    (reply) => reply !== 'UNAVAILABLE' && JSON.stringify(reply) !== JSON.stringify(version.right),
  )
  expect(wrong).toEqual([])
  expect(replies.filter((reply) => reply !== 'UNAVAILABLE').length).toBeGreaterThan(0)
})

test('an engine that stands still is a refusal in time, and the right reply once it goes on', async () => {
  const version = await loaded(1)
  cluster.cluster.signal('SIGSTOP')
  const beganMs = adjustedNowMs()
  const refused = await ask(version)
  const tookMs = adjustedNowMs() - beganMs
  cluster.cluster.signal('SIGCONT')
  expect(refused).toBe('UNAVAILABLE')
  expect(tookMs).toBeLessThan(IN_TIME_MS)
  await expectEventually(() => ask(version), version.right)
})

test('an engine that is down is a refusal, and the version is served again after its restart', async () => {
  const version = await loaded(1)
  await cluster.cluster.kill()
  expect(await ask(version)).toBe('UNAVAILABLE')
  await cluster.cluster.start()
  await expectEventually(() => ask(version), version.right)
  await green()
})

test('an engine without memory is a refusal in time, and the right reply once it has memory again', async () => {
  const version = await loaded(1)
  const beganMs = adjustedNowMs()
  await setCluster({ 'indices.breaker.total.limit': '1%' })
  await expectEventually(() => ask(version), 'UNAVAILABLE')
  expect(adjustedNowMs() - beganMs).toBeLessThan(IN_TIME_MS)
  await setCluster({ 'indices.breaker.total.limit': null })
  await expectEventually(() => ask(version), version.right)
  await green()
})

const setCluster = (settings: object): Promise<unknown> =>
  send({ method: 'PUT', path: '/_cluster/settings', body: { persistent: settings } })

test('a caller of the gateway sees an engine that stands still as 503 in time, is refunded, and is served after', async () => {
  await green()
  const environment = engineEnvironment(cluster.settings)
  const service = await startTestService({ engine: 'opensearch', environment })
  await using ending = new AsyncDisposableStack()
  ending.defer(() => service.stop())
  ending.defer(async () => cluster.cluster.signal('SIGCONT'))
  const caller = await service.createCaller({ limits: { requests_per_day: 10, requests_per_month: 10 } })
  const right = (await caller.ask()).retrieved().results
  expect(right.length).toBeGreaterThan(0)
  cluster.cluster.signal('SIGSTOP')
  const beganMs = adjustedNowMs()
  const refused = await caller.ask()
  expect(adjustedNowMs() - beganMs).toBeLessThan(PLATFORM_BOUNDS.requestDeadlineMs)
  cluster.cluster.signal('SIGCONT')
  expect(refused.status).toBe(503)
  expect(refused.error().error).toMatchObject({ code: 'RETRIEVAL_UNAVAILABLE', retryable: true })
  const again = await until('requests are served again', async () => {
    const answer = await caller.ask()
    return answer.status === 200 && answer
  })
  expect(again.retrieved().results).toEqual(right)
  const entries = await settledLedgerRows(service.owner, caller.entitlementId)
  expect(entries.slice(0, 2)).toMatchObject([{ charged: true }, { entry: 'refunded', charged: false }])
})

const UNLOADED = 'FAILED_PRECONDITION'

test('rows that change after the block was lifted unload the version, and it is not loaded again', async () => {
  const version = await loaded(1)
  await setIndex(version, { 'index.blocks.write': false })
  await send({ method: 'DELETE', path: `/${version.engine.index}/_doc/7` })
  await expectEventually(() => ask(version), UNLOADED)
  await expect(prepare(version)).rejects.toThrow('was written to after the build')
})

test('an index that was replaced under its name unloads the version', async () => {
  const version = await loaded(1)
  const { index } = version.engine
  await send({ method: 'DELETE', path: `/${index}` })
  await send({ method: 'PUT', path: `/${index}` })
  await expectEventually(() => ask(version), UNLOADED)
  await expect(prepare(version)).rejects.toThrow('was replaced by another one')
})

test('an index that was removed unloads the version', async () => {
  const version = await loaded(1)
  await send({ method: 'DELETE', path: `/${version.engine.index}` })
  await expectEventually(() => ask(version), UNLOADED)
  await expect(prepare(version)).rejects.toThrow('is missing')
})

test('documents that are not those of the manifest are found by their digest', async () => {
  const { engine } = await loaded(1)
  const signed = { folder: '', dimensions: undefined }
  expect(await contentFault(cluster.client, engine, signed)).toBeUndefined()
  const other = { ...engine, digest: '0'.repeat(64) }
  expect(await contentFault(cluster.client, other, signed)).toContain('are not those of the build')
})

/** Gives row 431 the vector of another row, and leaves no trace in what the manifest says. */
async function alterVector(engine: EngineDescription): Promise<EngineDescription> {
  const path = `/${engine.index}/_doc/431`
  const { _source: source } = await cluster.client.request({ method: 'GET', path }, documentSchema)
  await setIndex({ engine }, { 'index.blocks.write': false })
  const body = { ...source, vector: [...(rows[430]?.vector ?? [])] }
  await send({ method: 'PUT', path, query: { refresh: true }, body })
  const { operations } = await lookAt(cluster.client, engine.index, 1)
  return { ...engine, operations }
}
const documentSchema = z.object({ _source: z.looseObject({}) })

test('a vector that was altered in the index is found on load, or right after it in a large index', async () => {
  const version = await engineArtifact(cluster.client, rows, 1, store, 'altered vector', alterVector)
  const { versionId, manifestDigest } = version
  await expect(prepare(version)).rejects.toThrow('The vector of row 431')
  const large = { lookEveryMs: 200, readOnLoadRowsMax: 0 }
  const other = await startNodeInProcess(store, publicKeyDer, cluster.settings, large)
  const ofOther = openSearchNodeClient(`127.0.0.1:${other.port}`, credentials.createInsecure())
  await using ending = new AsyncDisposableStack()
  ending.defer(() => other.stop())
  ending.defer(async () => ofOther.close())
  await ofOther.prepareVersion({ versionId, manifestDigest }, CALL_TIMEOUT_MS)
  await expectEventually(() => ask(version, ofOther), UNLOADED)
})
