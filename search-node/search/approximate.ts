import type { Index } from 'usearch'
import { isAllowed } from './allowed.ts'
import type { GraphPositions } from './plan.ts'

export interface GraphAnswer extends GraphPositions {
  /** Allowed rows, nearest first, at most `wanted`. */
  readonly rows: readonly number[]
}

/** Asks the graph for neighbours and keeps the allowed ones. */
export function approximateRows(index: Index, query: Float32Array, neighbours: number, bits: Uint32Array, limit: number, wanted: number): GraphAnswer {
  const { keys } = index.search(query, neighbours, 1)
  const rows: number[] = []
  let first: number | undefined
  let lastNeeded: number | undefined
  for (let position = 0; position < keys.length && rows.length < wanted; position++) {
    const row = Number(keys[position])
    if (!isAllowed(bits, row)) continue
    first ??= position
    rows.push(row)
    if (rows.length === limit) lastNeeded = position
  }
  return { rows, first, lastNeeded }
}
