import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { openEngineClient, type EngineClient } from '#core/engine/client.ts'
import { writeIndex, engineRows } from '#core/engine/index-writer.ts'
import { NO_ENGINE } from '#core/engine/settings.ts'
import type { EngineDescription } from '#core/index/engine/description.ts'
import { artifactRef, openIndex, type IndexReader } from '#core/index/format/reader.ts'
import type { ArtifactRow } from '#core/index/format/writer.ts'
import { startCluster } from '#operator/demo/local/opensearch/start.ts'
import { createIndexVersion, createSearchShared } from '#search-node/search/index-version.ts'
import { buildTestArtifact } from '#test/support/artifact.ts'
import { signingKeys } from '#test/support/secrets.ts'

export type TestCluster = Awaited<ReturnType<typeof startTestCluster>>

/** Starts a cluster of three nodes, and stops it after the tests of the file that calls. */
export async function startTestCluster() {
  const folder = mkdtempSync(join(tmpdir(), 'opensearch-'))
  const cluster = await startCluster({ folder, nodes: 3 })
  const settings = { ...NO_ENGINE, OPENSEARCH_URL: cluster.urls }
  const client = await openEngineClient(settings)
  afterAll(async () => {
    await client.close()
    await cluster.stop()
    rmSync(folder, { recursive: true, force: true })
  })
  return { cluster, settings, client }
}

const keys = signingKeys()

/** The key that verifies the versions below. */
export const { publicKeyDer } = keys

export type EngineArtifact = Awaited<ReturnType<typeof engineArtifact>>

/**
 * Writes an artifact with its index.
 * @param shards of the index. @param after changes the index before the manifest describes it.
 */
export async function engineArtifact(
  client: EngineClient,
  rows: readonly ArtifactRow[],
  shards: number,
  store = mkdtempSync(join(tmpdir(), 'engine-')),
  name = `engine of ${shards} shards`,
  after: (engine: EngineDescription) => Promise<EngineDescription> = (engine) => Promise.resolve(engine),
) {
  const artifact = await buildTestArtifact({
    store,
    rows,
    name,
    privateKeyDer: keys.privateKeyDer,
    loadEngine: async (unsigned, versionId) =>
      after(await writeIndex(client, { versionId, ...unsigned, shards, rows: engineRows(unsigned) })),
  })
  const { engine } = artifact.manifest
  if (engine === undefined) throw new Error('the manifest describes no index')
  return { ...artifact, store, engine }
}

export type BothEngines = Awaited<ReturnType<typeof bothEngines>>

/** The same rows as a version that is searched in its own files, and as one that is searched in the cluster. */
export async function bothEngines(client: EngineClient, rows: readonly ArtifactRow[], shards: number) {
  const own = await engineArtifact(client, rows, shards)
  const { folder, manifest } = await buildTestArtifact({ store: own.store, rows, privateKeyDer: keys.privateKeyDer })
  const indexes: readonly [IndexReader, IndexReader] = [
    openIndex(artifactRef(folder, manifest)),
    openIndex(artifactRef(own.folder, own.manifest)),
  ]
  const [local, remote] = indexes
  return {
    rows,
    local: createIndexVersion(local),
    remote: createIndexVersion(remote, createSearchShared(remote, { client, engine: own.engine })),
    engine: own.engine,
    close() {
      for (const index of indexes) index.close()
      rmSync(own.store, { recursive: true, force: true })
    },
  }
}
