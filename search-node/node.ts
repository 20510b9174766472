import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Piscina } from 'piscina'
import { engineSettingsOf } from '#core/engine/settings.ts'
import { ArtifactError } from '#core/index/artifact-error.ts'
import { artifactRef } from '#core/index/format/reader.ts'
import { openArtifactStore, type ArtifactStore } from '#core/index/format/store.ts'
import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'
import type { Signed } from '#core/index/format/manifest.ts'
import { StoreError } from '#core/platform/errors.ts'
import type { Log } from '#core/platform/log.ts'
import { serverCredentials } from '#core/rpc/transport.ts'
import { SEARCH_NODE_BOUNDS } from './bounds.ts'
import type { SearchNodeConfig } from './config.ts'
import { startEngineChecks, type EngineCheckOptions } from './engine-check.ts'
import { createNodeMetrics } from './metrics.ts'
import { collectGarbage } from './threads/collect-garbage.ts'
import { NodeError } from './node-error.ts'
import { SearchPool } from './threads/pool.ts'
import type { VerifyTask, Verified } from './threads/verify-worker.ts'
import { startServing } from './serving.ts'
import { startScrub } from './scrub.ts'
import { createServer } from './server.ts'
import { Versions } from './versions.ts'

export type SearchNode = Awaited<ReturnType<typeof startSearchNode>>

/** Creates the parts of a search node in start order, then listens. */
export async function startSearchNode(config: SearchNodeConfig, log: Log, engineChecks?: EngineCheckOptions) {
  const credentials = serverCredentials(config.SEARCH_LISTEN, config)
  const inUse = (): string[] => [...serving.wanted(), ...versions.status().map(({ versionId }) => versionId)]
  const store = openArtifactStore(config, { inUse })
  const verifier = startVerifier()
  const pool = new SearchPool({
    threads: config.SEARCH_THREADS,
    queueMax: SEARCH_NODE_BOUNDS.searchQueueMax,
    engine: engineSettingsOf(config),
  })
  const versions = new Versions({
    artifactFolder: (versionId) => store.artifactFolder(versionId),
    async verify(folder, digest) {
      const isMapped = versions.loaded().some(({ artifact }) => artifact.folder === folder)
      const signed = { publicKeysDer: config.MANIFEST_PUBLIC_KEY, digest }
      const manifest = await verifiedCopy({ store, verifier, isMapped }, folder, signed)
      await engines.verify(artifactRef(folder, manifest))
      return manifest
    },
    openEverywhere: (artifact) => pool.openEverywhere(artifact),
    async closeEverywhere(artifact) {
      await scrub.leave(artifact)
      await pool.closeEverywhere(artifact)
      // This thread passed the memory that the scoring threads share to each of them.
      await collectGarbage()
    },
    onState: (versionId, isServed) => server.setServed(versionId, isServed),
    onDamaged: (versionId, reason) => log.error('damaged version unloaded', { version_id: versionId, reason }),
  })
  const metrics = createNodeMetrics()
  const server = createServer({ pool, versions, metrics, log })
  const scrub = startScrub(versions, config.MANIFEST_PUBLIC_KEY, log)
  const engines = startEngineChecks(config, versions, log, engineChecks)
  const list = (): Promise<string | undefined> => store.readText(store.servingFile)
  const { MANIFEST_PUBLIC_KEY: publicKeysDer, SEARCH_TLS_CERT: certificate } = config
  const serving = startServing({ list, publicKeysDer, versions, onServing: server.serve, log })
  metrics.observe({ pool, versions, wanted: serving.wanted, store, certificate })
  async function endThreads(): Promise<void> {
    serving.stop()
    await scrub.stop()
    await engines.stop()
    await pool.end()
    await verifier.close()
  }
  const port = await server.listen(config.SEARCH_LISTEN, credentials).catch(async (error: unknown) => {
    await endThreads()
    throw error
  })
  return {
    port,
    /** What the internal port tells. A version that is wanted and not loaded is no fault of the others. */
    internal: { registry: metrics.registry, ready: () => readyState(versions, serving.wanted()) },
    /** Fails health, answers calls for the drain period, finishes calls in flight, then ends the threads. */
    async stop() {
      server.stopServing()
      await wait(config.DRAIN_MS)
      await server.close(PLATFORM_BOUNDS.hardDeadlineMs)
      await endThreads()
    },
  }
}

function readyState(versions: Versions, wanted: readonly string[]) {
  const loaded = versions.costs().map(({ versionId }) => versionId)
  return { faults: [], loaded, missing: wanted.filter((id) => !loaded.includes(id)) }
}

function refuse(error: unknown): never {
  if (error instanceof StoreError) throw new NodeError('UNAVAILABLE', error.message, { cause: error })
  if (!(error instanceof ArtifactError)) throw error
  throw new NodeError(error.absent ? 'UNAVAILABLE' : 'DATA_LOSS', error.message, { cause: error })
}

/** The thread that hashes artifacts. It ends after an idle period. */
function startVerifier(): Piscina<VerifyTask, Verified> {
  return new Piscina({
    filename: fileURLToPath(new URL('./threads/verify-worker.ts', import.meta.url)),
    name: 'verify',
    minThreads: 0,
    idleTimeout: SEARCH_NODE_BOUNDS.verifierIdleMs,
    maxThreads: 1,
    concurrentTasksPerWorker: 1,
    maxQueue: SEARCH_NODE_BOUNDS.verifyQueueMax,
    recordTiming: false,
  })
}

interface CopyDeps {
  readonly store: ArtifactStore
  readonly verifier: Piscina<VerifyTask, Verified>
  /** The version is served from the copy now. */
  readonly isMapped: boolean
}

async function verifiedCopy({ store, verifier, isMapped }: CopyDeps, folder: string, signed: Signed) {
  await store.fetch(folder, signed).catch(refuse)
  const verified = await verifier.run({ folder, ...signed })
  if (!('fault' in verified)) return verified.manifest
  if (!verified.absent && (await store.discard(folder)) && !isMapped)
    throw new NodeError('UNAVAILABLE', `The copy was damaged and is fetched again. ${verified.fault}`)
  return refuse(new ArtifactError(verified.fault, verified))
}
