import { join } from 'node:path'
import { ownBytes } from '#core/platform/file-reader.ts'
import { innerProductAt } from './inner-product.ts'
import { cellsLayout } from './layout.ts'
import type { Division, Reach } from './layout.ts'
import { quantizeTogether } from './quantize.ts'

/** The cells of one version; see `cellsLayout`. */
export interface Cells {
  readonly count: number
  /** Components of a head. */
  readonly head: number
  readonly starts: Uint32Array
  readonly standardDeviations: Float32Array
  readonly rowOf: Uint32Array
  readonly slotOf: Uint32Array
  /** Empty where a head is as long as a vector. */
  readonly directions: Float32Array
  readonly means: Int8Array
  readonly scale: number
  readonly reach: Reach
}

/** @param folder of a verified artifact. */
export function readCells(
  folder: string,
  rows: number,
  dimensions: number,
  division: Division & { readonly reach: Reach },
): Cells {
  const bytes = ownBytes(join(folder, 'cells.bin'), cellsLayout(rows, dimensions, division).bytes)
  const { cells: count, head, reach } = division
  const { startsOffset, standardDeviationsOffset, rowsOffset, directionsOffset, meansOffset } = cellsLayout(
    rows,
    dimensions,
    division,
  )
  const rowOf = new Uint32Array(bytes, rowsOffset, rows)
  const slotOf = new Uint32Array(rows)
  for (const [slot, row] of rowOf.entries()) slotOf[row] = slot
  return {
    count,
    head,
    starts: new Uint32Array(bytes, startsOffset, count + 1),
    standardDeviations: new Float32Array(bytes, standardDeviationsOffset, count),
    rowOf,
    slotOf,
    directions: new Float32Array(bytes, directionsOffset, (meansOffset - directionsOffset) / 4),
    // A copy, because usearch ignores the offset of a view into a buffer.
    means: new Int8Array(bytes, meansOffset, count * head).slice(),
    scale: new Float64Array(bytes, 0, 1)[0] ?? 1,
    reach,
  }
}

/** Returns the head of a query, int8 in its own scale. */
export function headOf(
  { directions, head }: Pick<Cells, 'directions' | 'head'>,
  query: Float32Array,
): Int8Array<ArrayBuffer> {
  if (directions.length === 0) return quantizeTogether(query).quantized
  const components = Float64Array.from({ length: head }, (_, at) =>
    innerProductAt(directions, at * query.length, query),
  )
  return quantizeTogether(components).quantized
}
