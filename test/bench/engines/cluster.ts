import { NO_ENGINE } from '#core/engine/settings.ts'
import type { EngineSettings } from '#core/engine/settings.ts'

/** The cluster of versions with an engine. */
export interface BenchCluster {
  readonly urls: readonly string[]
  readonly pid: number
}

export function engineOf(cluster: BenchCluster | undefined): EngineSettings {
  return cluster === undefined ? NO_ENGINE : { ...NO_ENGINE, OPENSEARCH_URL: cluster.urls }
}
