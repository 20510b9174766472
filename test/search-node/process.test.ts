import { Client, credentials, status, type MethodDefinition } from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'
import { protoPath } from 'grpc-health-check'
import { expect, test } from 'vitest'
import type { SearchNodeClient } from '#core/rpc/search-client.ts'
import { buildTestArtifact } from '#test/support/artifact.ts'
import { queryNear, seededRandom, testRows } from '#test/support/passages.ts'
import { signingKeys } from '#test/support/secrets.ts'
import { requestOf } from '#test/support/search.ts'
import { openNode, refusalOf } from '#test/support/fixtures.ts'
import { nodeEnvironment } from '#test/support/search-node.ts'
import { CALL_TIMEOUT_MS, expectEventually } from '#test/support/until.ts'
import { folderOfFile } from '#test/support/folder.ts'

const keys = signingKeys()
const seed = 20_261
const store = folderOfFile()

const rows = testRows({ rows: 1_200, dimensions: 32, seed })
const artifact = await buildTestArtifact({ store, rows, privateKeyDer: keys.privateKeyDer })

const search = (to: SearchNodeClient) => {
  const vector = queryNear(artifact.rows, 7, seededRandom(seed))
  return to.search(requestOf({ versionId: artifact.versionId, vector }), CALL_TIMEOUT_MS)
}

function healthOf(address: string) {
  const definition = loadSync(protoPath, { keepCase: true, enums: String, defaults: true })
  const method = (definition['grpc.health.v1.Health'] as Record<string, MethodDefinition<object, { status: string }>>)[
    'Check'
  ]
  if (method === undefined) throw new Error('the health proto has no Check')
  const channel = new Client(address, credentials.createInsecure())
  return {
    check: () =>
      new Promise((resolve, reject) =>
        channel.makeUnaryRequest(
          method.path,
          method.requestSerialize,
          method.responseDeserialize,
          { service: 'evidence.search.v1.SearchNode' },
          { deadline: Date.now() + CALL_TIMEOUT_MS },
          (error, reply) => (error === null ? resolve(reply?.status ?? '') : reject(error)),
        ),
      ),
    close: () => channel.close(),
  }
}

test('on SIGTERM health fails, searches are answered during the drain period, the process exits with 0', async () => {
  const draining = nodeEnvironment(store, keys.publicKeyDer, { DRAIN_MS: '3000' })
  const { node, client: calls } = await openNode(draining)
  const health = healthOf(node.address)
  await calls.prepareVersion(artifact, CALL_TIMEOUT_MS)
  expect(await health.check()).toBe('SERVING')
  node.child.kill('SIGTERM')
  await expectEventually(() => health.check(), 'NOT_SERVING')
  expect((await search(calls)).passages).toHaveLength(5)
  const inFlight = Array.from({ length: 50 }, () => search(calls))
  expect((await Promise.all(inFlight)).every(({ passages }) => passages.length === 5)).toBe(true)
  expect(await node.ended).toBe(0)
  await expect(search(calls)).rejects.toMatchObject({ code: status.UNAVAILABLE })
  health.close()
})

test('searches in flight when the drain period ends are still answered', async () => {
  const { node, client: calls } = await openNode(nodeEnvironment(store, keys.publicKeyDer))
  await calls.prepareVersion(artifact, CALL_TIMEOUT_MS)
  const inFlight = Array.from({ length: 100 }, () => search(calls))
  // On the same connection, so its reply means that all searches have arrived.
  await calls.status(CALL_TIMEOUT_MS)
  node.child.kill('SIGTERM')
  const outcomes = await Promise.allSettled(inFlight)
  expect(outcomes.filter(({ status: outcome }) => outcome === 'fulfilled').length).toBe(100)
  expect(await node.ended).toBe(0)
})

test('a node whose port is taken says so and ends', async () => {
  const { node } = await openNode(nodeEnvironment(store, keys.publicKeyDer))
  const taken = nodeEnvironment(store, keys.publicKeyDer, { SEARCH_LISTEN: node.address })
  expect(await refusalOf(taken)).toMatch(/cannot start.*EADDRINUSE|cannot start.*No address/)
})
