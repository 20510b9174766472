import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { NO_ENGINE, type EngineSettings } from '#core/engine/settings.ts'
import { startReplayNode } from '#operator/commands/rerun.ts'
import { buildTestArtifact } from '#test/support/artifact.ts'
import { send, startJsonServer } from '#test/support/json-server.ts'
import { testRows } from '#test/support/passages.ts'
import { signingKeys } from '#test/support/secrets.ts'
import { folderOfFile } from '#test/support/folder.ts'
import { CALL_TIMEOUT_MS, expectEventually } from '#test/support/until.ts'

const USER = { OPENSEARCH_USER: 'evidence', OPENSEARCH_PASSWORD: 'secret' } as const
const keys = signingKeys()
const store = folderOfFile()

/** A version whose signed manifest describes an index; no cluster has it. */
const { versionId, manifestDigest } = await buildTestArtifact({
  store,
  rows: testRows({ rows: 4, dimensions: 8, seed: 1 }),
  privateKeyDer: keys.privateKeyDer,
  loadEngine: (_, version) =>
    Promise.resolve({
      name: 'opensearch',
      index: `evidence-${version}-0123456789ab`,
      uuid: 'uuid',
      shards: 1,
      count: 4,
      operations: 4,
      digest: 'a'.repeat(64),
    }),
})

const started = (engine: Partial<EngineSettings>): ReturnType<typeof startReplayNode> =>
  startReplayNode(
    { ...NO_ENGINE, ...engine, ARTIFACT_STORE: pathToFileURL(store).href, MANIFEST_PUBLIC_KEY: [keys.publicKeyDer] },
    versionId,
    manifestDigest,
  )

test('the node of a replay asks the cluster of a version with an engine, as the user that is configured', async () => {
  const asked = new Set<string | undefined>()
  const cluster = await startJsonServer(({ headers }, response) => {
    asked.add(headers.authorization)
    send(response, 404, { error: { type: 'index_not_found_exception' } })
  })
  const node = await started({ OPENSEARCH_URL: [new URL(cluster.baseUrl).origin], ...USER })
  await using ending = new AsyncDisposableStack()
  ending.defer(() => cluster.stop())
  ending.defer(() => node.stop())
  const version = { versionId, manifestDigest, verify: false }
  const { OPENSEARCH_USER: user, OPENSEARCH_PASSWORD: password } = USER
  // On a busy machine the node may give a request up before it arrives.
  await expectEventually(async () => {
    await expect(node.client.prepareVersion(version, CALL_TIMEOUT_MS)).rejects.toThrow()
    return [...asked]
  }, [`Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`])
})

test('without OPENSEARCH_URL, or with settings in conflict, one sentence refuses before a node starts', async () => {
  await expect(started({})).rejects.toThrow(/^The version \S+ is searched in an OpenSearch cluster: set OPENSEARCH_URL/)
  await expect(started({ OPENSEARCH_URL: ['http://127.0.0.1:9'], OPENSEARCH_USER: 'evidence' })).rejects.toThrow(
    'OPENSEARCH_USER and OPENSEARCH_PASSWORD come together; set both or none.',
  )
})
