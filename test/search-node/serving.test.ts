import { randomUUID } from 'node:crypto'
import { renameSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { status } from '@grpc/grpc-js'
import { expect, onTestFinished, test } from 'vitest'
import { chainText, type ChainEntry } from '#core/domain/version-chain.ts'
import { signManifest } from '#core/index/format/manifest.ts'
import type { SearchResult } from '#core/domain/search.ts'
import type { SearchNodeClient } from '#core/rpc/search-client.ts'
import { buildTestArtifact, type TestArtifact } from '#test/support/artifact.ts'
import { openNode } from '#test/support/fixtures.ts'
import { folderOfFile } from '#test/support/folder.ts'
import { queryNear, seededRandom, testRows } from '#test/support/passages.ts'
import { runScript } from '#test/support/processes.ts'
import { requestOf } from '#test/support/search.ts'
import { loadedOn, nodeEnvironment } from '#test/support/search-node.ts'
import { signingKeys } from '#test/support/secrets.ts'
import { CALL_TIMEOUT_MS, expectEventually, until } from '#test/support/until.ts'

/** What a node serves by the list beside the store, without a worker, Redis or Postgres. */
const keys = signingKeys()
const store = folderOfFile()
const rows = testRows({ rows: 200, dimensions: 16, seed: 49 })
const [one, two] = [
  await buildTestArtifact({ store, rows, privateKeyDer: keys.privateKeyDer }),
  await buildTestArtifact({ store, rows, privateKeyDer: keys.privateKeyDer, name: 'two' }),
]

function signed({ versionId, manifestDigest }: TestArtifact, privateKeyDer: Buffer) {
  const entry: ChainEntry = {
    format: 'evidence version chain 1',
    knowledge_base: { id: randomUUID(), slug: 'rules' },
    sequence: 1,
    kind: 'activate',
    version_id: versionId,
    predecessor: null,
    manifest_sha256: manifestDigest.toString('hex'),
    record_sha256: '0'.repeat(64),
    activated_at: '2026-11-28T00:00:00.000Z',
    previous_sha256: null,
  }
  const text = chainText(entry)
  return { entry: text, signature: signManifest(Buffer.from(text), privateKeyDer).toString('base64') }
}

const list = (...entries: readonly object[]): void =>
  writeFileSync(join(store, 'serving.json'), JSON.stringify(entries))
const isServing = async (address: string): Promise<boolean> =>
  (await runScript(['core/rpc/probe.ts', address])).code === 0
const search = (client: SearchNodeClient, { versionId }: TestArtifact): Promise<SearchResult> =>
  client.search(requestOf({ versionId, vector: queryNear(one.rows, 7, seededRandom(49)) }), CALL_TIMEOUT_MS)

test('a node loads what the signed list names by itself, serves then, and follows the list', async () => {
  list(signed(one, keys.privateKeyDer), signed(two, signingKeys().privateKeyDer))
  const { node, client } = await openNode(nodeEnvironment(store, keys.publicKeyDer), onTestFinished)
  await until('it is serving', () => isServing(node.address))
  // The other entry is signed with a foreign key.
  expect(await loadedOn(node.address)).toEqual([one.versionId])
  list(signed(one, keys.privateKeyDer), signed(two, keys.privateKeyDer))
  await expectEventually(async () => (await loadedOn(node.address)).length, 2)
  expect((await search(client, two)).passages).toHaveLength(5)
})

test('what is mapped and verified is served while the store is away, with an alarm; other bytes end it', async () => {
  list(signed(one, keys.privateKeyDer))
  const { node, client } = await openNode(nodeEnvironment(store, keys.publicKeyDer), onTestFinished)
  await until('it is serving', () => isServing(node.address))
  const away = `${one.folder}.away`
  renameSync(one.folder, away)
  await until('the alarm', () => node.output().includes('version could not be read again'))
  expect((await search(client, one)).passages).toHaveLength(5)
  const verified = client.prepareVersion({ ...one, verify: true }, CALL_TIMEOUT_MS)
  await expect(verified).rejects.toMatchObject({ code: status.UNAVAILABLE })
  expect(await loadedOn(node.address)).toEqual([one.versionId])
  renameSync(away, one.folder)
  expect((await client.status(CALL_TIMEOUT_MS)).damaged).toBe(0)
})

test('a node is not serving while the store cannot be read, and loads from it once it can', async () => {
  list(signed(one, keys.privateKeyDer))
  const away = `${one.folder}.away`
  renameSync(one.folder, away)
  const { node } = await openNode(nodeEnvironment(store, keys.publicKeyDer), onTestFinished)
  await until('it was tried', () => node.output().includes('version could not be loaded'))
  expect(await isServing(node.address)).toBe(false)
  renameSync(away, one.folder)
  await until('it is serving', () => isServing(node.address))
  expect(await loadedOn(node.address)).toEqual([one.versionId])
})

test('of several versions, one that was cut short is refused alone', async () => {
  list(signed(one, keys.privateKeyDer), signed(two, keys.privateKeyDer))
  truncateSync(join(two.folder, 'lexical.postings'), 1)
  const { node } = await openNode(nodeEnvironment(store, keys.publicKeyDer), onTestFinished)
  await until('it is serving', () => isServing(node.address))
  expect(await loadedOn(node.address)).toEqual([one.versionId])
})
