/** Rows of the first clusters that tell how rows spread around the centroids of their clusters. */
const MEASURED_ROWS = 1_000

/** Clusters near a query are often far smaller than the average, so that a few of them hold too few rows. */
const FIRST_CLUSTERS_MIN = 32

/** Clusters that a search probes first: twice as many as hold MEASURED_ROWS on average, or more. */
export function firstClusters(rows: number, clusters: number): number {
  return Math.min(clusters, Math.max(FIRST_CLUSTERS_MIN, Math.ceil((2 * MEASURED_ROWS * clusters) / rows)))
}

/** Measures how the cosines of rows with a query spread around those of their centroids. */
export class ClusterSpread {
  #degrees = 0
  #squares = 0
  #radii = 0

  /** Whether it rests on enough rows. */
  get isMeasured(): boolean {
    return this.#degrees >= MEASURED_ROWS
  }

  /** @param squares sum of the squared distances of the cosines of a cluster from their mean. */
  add(rows: number, squares: number, radius: number): void {
    this.#degrees += rows - 1
    this.#squares += squares
    this.#radii += (rows - 1) * radius * radius
  }

  /** Standard deviation, in radii of the clusters. */
  get deviation(): number {
    return this.#radii === 0 ? 0 : Math.sqrt(this.#squares / this.#radii)
  }
}
