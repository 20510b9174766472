import { MetricKind, exactSearch } from 'usearch'
import { quantize } from '#core/artifact/quantize.ts'
import type { RowFile } from './row-file.ts'

interface Near {
  readonly row: number
  readonly distance: number
}

/**
 * The `wanted` rows nearest to the query, by scoring each of them in int8, in bounded pieces. Rounding moves a row by a few places at
 * most: ask for more than are needed and score those from float32.
 * @param rows ascending. @param quantized `vectors.i8`.
 */
export function exactRows(quantized: RowFile, rows: Uint32Array, query: Float32Array, wanted: number): number[] {
  if (rows.length <= wanted) return [...rows]
  const dimensions = query.length
  const quantizedQuery = quantize(query, dimensions)
  let best: Near[] = []
  for (let at = 0; at < rows.length; at += quantized.rowsMax) {
    const piece = rows.subarray(at, at + quantized.rowsMax)
    const vectors = new Int8Array(quantized.read(piece), 0, piece.length * dimensions)
    const found = exactSearch(vectors, quantizedQuery, dimensions, Math.min(wanted, piece.length), MetricKind.Cos, 1)
    best = merge(best, piece, found, wanted)
  }
  return best.map(({ row }) => row)
}

function merge(
  best: readonly Near[],
  piece: Uint32Array,
  { keys, distances }: { readonly keys: BigUint64Array; readonly distances: Float32Array },
  wanted: number,
): Near[] {
  const worst = best.length < wanted ? Infinity : (best.at(-1)?.distance ?? Infinity)
  const merged = [...best]
  for (let position = 0; position < distances.length && (distances[position] ?? 0) < worst; position++)
    merged.push({ row: piece[Number(keys[position])] ?? 0, distance: distances[position] ?? 0 })
  return merged.sort((a, b) => a.distance - b.distance || a.row - b.row).slice(0, wanted)
}
