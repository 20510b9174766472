import { Histogram, type Registry } from 'prom-client'
import type { ArtifactStore } from '#core/index/format/store.ts'
import { collected, createRegistry, createTally, gauge, registerDisks } from '#core/platform/metrics.ts'
import { registerCertificate } from '#core/rpc/certificates.ts'
import type { SearchPool } from './threads/pool.ts'
import type { Versions } from './versions.ts'

/** Prometheus metrics of a search node. */
export type NodeMetrics = ReturnType<typeof createNodeMetrics>

export interface Observed {
  readonly pool: Pick<SearchPool, 'threads' | 'queued' | 'queueMax' | 'graphSearches'>
  readonly versions: Pick<Versions, 'costs' | 'damaged'>
  /** Versions that the node is to serve. */
  readonly wanted: () => readonly string[]
  readonly store: Pick<ArtifactStore, 'root'>
  /** Path of this process's certificate. */
  readonly certificate: string | undefined
}

export function createNodeMetrics() {
  const registry = createRegistry()
  const searches = createTally('evidence_searches_total', 'Searches by version and gRPC code.', ['version', 'code'])
  searches.register(registry)
  const seconds = new Histogram({
    name: 'evidence_search_seconds',
    help: 'Searches, with their time in the queue.',
    buckets: [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2],
    registers: [registry],
  })
  return {
    registry,
    /** Counts a search that got as far as its version. @param code of gRPC. */
    searched: (versionId: string, code: string, ms: number) => {
      searches.add(versionId, code)
      seconds.observe(ms / 1_000)
    },
    /** Adds what is read at each scrape. */
    observe: (observed: Observed) => register(registry, observed),
  }
}

function register(registry: Registry, { pool, versions, wanted, store, certificate }: Observed): void {
  registerCertificate(registry, certificate)
  registerDisks(registry, { store: store.root })
  gauge(registry, 'evidence_version_wanted', '1 for each version that is to be served.', ['version'], () =>
    wanted().map((version) => [{ version }, 1]),
  )
  const ofVersion = (
    name: string,
    help: string,
    value: (cost: ReturnType<Versions['costs']>[number]) => number,
  ): void =>
    gauge(registry, name, help, ['version'], () =>
      versions.costs().map((cost) => [{ version: cost.versionId }, value(cost)]),
    )
  ofVersion('evidence_version_bytes', 'Bytes of the files of each loaded version.', ({ bytes }) => bytes)
  ofVersion('evidence_version_passages', 'Passages of each loaded version.', ({ passages }) => passages)
  ofVersion('evidence_version_load_seconds', 'Time that the load of each version took.', ({ loadMs }) => loadMs / 1_000)
  ofVersion('evidence_version_loaded_age_seconds', 'Time since each version was loaded.', ({ ageMs }) => ageMs / 1_000)
  gauge(registry, 'evidence_search_queue', 'Searches that wait, and may wait, for a thread.', ['state'], () => [
    [{ state: 'waiting' }, pool.queued],
    [{ state: 'max' }, pool.queueMax],
  ])
  gauge(registry, 'evidence_search_threads', 'Scoring threads.', [], () => [[{}, pool.threads]])
  collected(registry, 'evidence_graph_searches_total', 'Searches of mapped usearch graphs.', [], () => [
    [{}, Number(pool.graphSearches[0])],
  ])
  gauge(
    registry,
    'evidence_damaged_versions',
    'Versions unloaded since the start because their files changed.',
    [],
    () => [[{}, versions.damaged]],
  )
}
