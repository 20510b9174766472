/** Assignment of rows to cells. A slot is a position in `vectors.i8`. */
export interface CellTable {
  readonly cells: number
  /** First slot of each cell, and the end. */
  readonly starts: Uint32Array
  /** The row in each slot. */
  readonly rows: Uint32Array
  /** The mean of each cell's heads, concatenated. */
  readonly means: Float64Array
  readonly standardDeviations: Float32Array
}
