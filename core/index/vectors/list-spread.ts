/** Rows of the first lists that tell how rows spread around the centroids of their lists. */
const MEASURED_ROWS = 1_000

/** Lists near a query are often far smaller than the average, so that a few of them hold too few rows. */
const FIRST_LISTS_MIN = 32

/** Lists that a search probes first: twice as many as hold MEASURED_ROWS on average, or more. */
export function firstLists(rows: number, lists: number): number {
  return Math.min(lists, Math.max(FIRST_LISTS_MIN, Math.ceil((2 * MEASURED_ROWS * lists) / rows)))
}

/** Measures how the cosines of rows with a query spread around those of their centroids. */
export class ListSpread {
  #degrees = 0
  #squares = 0
  #radii = 0

  /** Whether it rests on enough rows. */
  get isMeasured(): boolean {
    return this.#degrees >= MEASURED_ROWS
  }

  /** @param squares sum of the squared distances of the cosines of a list from their mean. */
  add(rows: number, squares: number, radius: number): void {
    this.#degrees += rows - 1
    this.#squares += squares
    this.#radii += (rows - 1) * radius * radius
  }

  /** Standard deviation, in radii of the lists. */
  get deviation(): number {
    return this.#radii === 0 ? 0 : Math.sqrt(this.#squares / this.#radii)
  }
}
