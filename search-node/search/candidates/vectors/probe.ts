import { countRows, countRange, clearRange } from '#core/index/bitset.ts'
import { ClusterSpread, firstClusters } from '#core/index/vectors/cluster-spread.ts'
import type { ClustersReader } from '#core/index/vectors/clusters-reader.ts'
import type { Sq4Scan } from '#core/index/vectors/sq4-scan.ts'
import type { PlanCosts, PlannedScan } from './query-plan.ts'

export interface ProbeQuery {
  /** Unit length. */
  readonly query: Float32Array
  /** The allowed positions: bit position % 32 of word position / 32. */
  readonly positions: Uint32Array
  /** All that may be scanned instead. */
  readonly all: PlannedScan
  /** The minimum of allowed rows that are scored. */
  readonly rowsScoredMin: number
  readonly costs: PlanCosts
}

/** Share of `nprobe` after which a search knows whether the filter excludes the rows near the query. */
const EXCLUSION_SHARE = 0.25
/** The share of near rows that a filter allows is clearly less than that of all rows below this ratio. */
const EXCLUDED_RATIO = 0.7
/** Steps of a value in a sort key, and the factor that makes room for a cluster below it. */
const KEY_STEPS = 2 ** 22
const KEY_CLUSTERS = 2 ** 24

/**
 * Scans the allowed positions cluster by cluster: first those that the graph finds nearest, then all others that may
 * hold one of the wanted rows, most promising first. A cluster is left out if its centroid lies so far below the wanted
 * rows that it hardly holds a nearer one. The build measured how far that is, in standard deviations of the rows around
 * the centroids of their clusters. The deviation is proportional to the radius of a cluster; the first clusters tell
 * the factor for this query.
 */
export class ClusterProbe {
  readonly #clusters: ClustersReader
  readonly #scan: Sq4Scan
  readonly #asked: ProbeQuery
  readonly #products: Float32Array
  readonly #spread = new ClusterSpread()
  readonly #scanned: Uint8Array
  readonly #near: { clusters: number; rows: number; allowed: number; readonly rowBytes: number }
  /** What the rows of a cluster lie above its centroid at most, in radii. */
  #perRadius = 0

  constructor(clusters: ClustersReader, scan: Sq4Scan, asked: ProbeQuery) {
    this.#clusters = clusters
    this.#scan = scan
    this.#asked = asked
    this.#products = clusters.products(scan.query)
    this.#scanned = new Uint8Array(clusters.starts.length - 1)
    this.#near = { clusters: 0, rows: 0, allowed: 0, rowBytes: asked.all.rowBytes }
  }

  /** @returns the allowed positions that are left to scan; undefined if they need not be. */
  run(): Uint32Array | undefined {
    const { query, all } = this.#asked
    const count = this.#scanned.length
    for (const cluster of this.#clusters.nearest(query, firstClusters(all.rows, count))) {
      if (this.#mostOf(cluster) < this.#least()) continue
      if (!this.#isWorth()) return this.#left()
      this.#scanCluster(cluster)
    }
    for (const cluster of this.#clustersAbove(this.#least())) {
      if (this.#scanned[cluster] === 1) continue
      if (this.#mostOf(cluster) < this.#least()) return undefined
      if (!this.#isWorth()) return this.#left()
      this.#scanCluster(cluster)
    }
    return undefined
  }

  #mostOf(cluster: number): number {
    return (this.#products[cluster] ?? 0) + this.#perRadius * (this.#clusters.radii[cluster] ?? 0)
  }

  #least(): number {
    const isEnough = this.#spread.isMeasured && this.#near.allowed >= this.#asked.rowsScoredMin
    return isEnough ? this.#scan.threshold() : -Infinity
  }

  #isWorth(): boolean {
    const { all, costs } = this.#asked
    const isTold = this.#near.clusters === Math.ceil(this.#clusters.nprobe * EXCLUSION_SHARE)
    if (isTold && excludesNear(this.#near, all)) return false
    return costs.clustersNs(this.#near.clusters, this.#near) <= costs.scanNs(all)
  }

  #scanCluster(cluster: number): void {
    const { starts, radii, deviations } = this.#clusters
    const { positions } = this.#asked
    const [from, to] = [starts[cluster] ?? 0, starts[cluster + 1] ?? 0]
    if (this.#spread.isMeasured) this.#scan.add(positions, from, to)
    else {
      this.#spread.add(to - from, this.#scan.addAndMeasure(positions, from, to), radii[cluster] ?? 0)
      this.#perRadius = deviations * this.#spread.deviation
    }
    this.#scanned[cluster] = 1
    this.#near.clusters += 1
    this.#near.rows += to - from
    this.#near.allowed += countRange(positions, from, to)
  }

  /**
   * The clusters that may hold a row of at least this value, the most promising first. Numbers sort faster without a
   * comparison.
   */
  #clustersAbove(least: number): Float64Array {
    const count = this.#scanned.length
    const keys = new Float64Array(count)
    let held = 0
    for (let cluster = 0; cluster < count; cluster++) {
      const most = this.#mostOf(cluster)
      if (most >= least) keys[held++] = cluster - Math.round(most * KEY_STEPS) * KEY_CLUSTERS
    }
    const sorted = keys.subarray(0, held).sort()
    for (let at = 0; at < held; at++)
      sorted[at] = (sorted[at] ?? 0) - Math.floor((sorted[at] ?? 0) / KEY_CLUSTERS) * KEY_CLUSTERS
    return sorted
  }

  /** The allowed positions outside of the clusters that are scanned or hold no wanted row; undefined if none. */
  #left(): Uint32Array | undefined {
    const { starts } = this.#clusters
    const left = this.#asked.positions.slice()
    const least = this.#least()
    for (let cluster = 0; cluster < this.#scanned.length; cluster++)
      if (this.#scanned[cluster] === 1 || this.#mostOf(cluster) < least)
        clearRange(left, starts[cluster] ?? 0, starts[cluster + 1] ?? 0)
    return countRows(left) === 0 ? undefined : left
  }
}

/**
 * Whether a filter allows clearly fewer of the rows near the query than of all rows. Its nearest rows then lie in any
 * cluster.
 */
function excludesNear(near: PlannedScan, all: PlannedScan): boolean {
  return near.allowed * all.rows < EXCLUDED_RATIO * near.rows * all.allowed
}
