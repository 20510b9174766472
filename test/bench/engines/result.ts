import type { Latency } from '#test/bench/in-process.ts'

/** Hybrid searches under one filter, two at a time, on the threads of a search node. */
export interface EngineLine {
  readonly name: string
  /** Rows that the filter allows. */
  readonly allowed: number
  /** Of the vectors against the exact answer. */
  readonly recall_at_10: number
  readonly latency: Latency
}

/** What a search node needs for one version. */
export interface NodeFigures {
  /** In the artifact store. */
  readonly artifact_megabytes: number
  /** In the cluster, one copy; null: the version has no index there. */
  readonly index_megabytes: number | null
  /** Of the cluster's process, beyond the page cache. */
  readonly cluster_megabytes: number | null
  /** A fresh search node verifies and opens the version. */
  readonly open_ms: number
  /** Of the search node, beyond the page cache, after questions under each filter. */
  readonly node_megabytes: number | null
  /** What the search node wrote to its disk. */
  readonly node_written_megabytes: number | null
}

export interface EngineFigures extends NodeFigures {
  readonly lines: readonly EngineLine[]
}

/** Of an index, from its first row to its write block. */
export interface IndexLoad {
  readonly seconds: number
  /** Of the cluster. */
  readonly cpu_seconds: number
}

/** The same passages as versions of either engine. */
export interface EnginesResult {
  /** ISO 8601 UTC. */
  readonly at: string
  readonly passages: number
  readonly dimensions: number
  /** The files of the local artifact; that of OpenSearch has the same ones, less those that are searched. */
  readonly files_seconds: number
  readonly index: IndexLoad
  readonly local: EngineFigures
  readonly opensearch: EngineFigures
  /** Searches that the cluster did not answer in their time, and that were repeated. */
  readonly repeated: number
}
