/** How rows lie in cells. Slots are the places of `vectors.i8`. */
export interface CellTable {
  readonly cells: number
  /** First slot of each cell, and the end. */
  readonly starts: Uint32Array
  /** The row in each slot. */
  readonly rows: Uint32Array
  /** The mean of each cell's heads, one after the other. */
  readonly means: Float64Array
  readonly standardDeviations: Float32Array
}
