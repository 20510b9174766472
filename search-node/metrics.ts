import { Histogram, type Registry } from 'prom-client'
import type { ArtifactStore } from '#core/index/format/store.ts'
import {
  aboutMetric,
  collected,
  createRegistry,
  createTally,
  gauge,
  registerDisks,
  type MetricName,
} from '#core/platform/metrics.ts'
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
  const searches = createTally('evidence_searches_total')
  searches.register(registry)
  const seconds = new Histogram({
    ...aboutMetric('evidence_search_seconds'),
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
  gauge(registry, 'evidence_version_wanted', () => wanted().map((version) => [{ version }, 1]))
  const ofVersion = (name: MetricName, value: (cost: ReturnType<Versions['costs']>[number]) => number): void =>
    gauge(registry, name, () => versions.costs().map((cost) => [{ version: cost.versionId }, value(cost)]))
  ofVersion('evidence_version_bytes', ({ bytes }) => bytes)
  ofVersion('evidence_version_passages', ({ passages }) => passages)
  ofVersion('evidence_version_load_seconds', ({ loadMs }) => loadMs / 1_000)
  ofVersion('evidence_version_loaded_age_seconds', ({ ageMs }) => ageMs / 1_000)
  gauge(registry, 'evidence_search_queue', () => [
    [{ state: 'waiting' }, pool.queued],
    [{ state: 'max' }, pool.queueMax],
  ])
  gauge(registry, 'evidence_search_threads', () => [[{}, pool.threads]])
  collected(registry, 'evidence_graph_searches_total', () => [[{}, Number(pool.graphSearches[0])]])
  gauge(registry, 'evidence_damaged_versions', () => [[{}, versions.damaged]])
}
