import { MetricKind, exactSearch } from 'usearch'
import type { RowFile } from '#core/index/vectors/row-file.ts'

interface Near {
  readonly row: number
  readonly distance: number
}

/** Scores slots of `vectors.i8` against one query and keeps the nearest. */
export interface Scorer {
  /** @param slots ascending. */
  add(slots: Uint32Array): void
  /**
   * The nearest rows so far, nearest first. A head alone does not put rows in their true order: ask for `candidatesOf`
   * and score those from float32.
   */
  rows(): number[]
  /** Inner product of the k-th nearest so far; -Infinity while there are fewer. */
  productOf(k: number): number
}

/** @param rowOf the row in each slot. @param head the query's. @param wanted rows to keep. */
export function createScorer(heads: RowFile, rowOf: Uint32Array, head: Int8Array, wanted: number): Scorer {
  let best: readonly Near[] = []

  function scorePiece(slots: Uint32Array): void {
    const block = new Int8Array(heads.read(slots), 0, slots.length * head.length)
    const { keys, distances } = exactSearch(block, head, head.length, Math.min(wanted, slots.length), MetricKind.IP, 1)
    const worst = best.length < wanted ? Infinity : (best.at(-1)?.distance ?? Infinity)
    if ((distances[0] ?? Infinity) > worst) return
    const merged = [...best]
    for (let position = 0; position < distances.length && (distances[position] ?? 0) <= worst; position++)
      merged.push({ row: rowOf[slots[Number(keys[position])] ?? 0] ?? 0, distance: distances[position] ?? 0 })
    best = merged.sort((a, b) => a.distance - b.distance || a.row - b.row).slice(0, wanted)
  }
  return {
    add(slots) {
      for (let at = 0; at < slots.length; at += heads.rowsMax) scorePiece(slots.subarray(at, at + heads.rowsMax))
    },
    rows: () => best.map(({ row }) => row),
    productOf: (k) => 1 - (best[k - 1]?.distance ?? Infinity),
  }
}

/** Scores every given row. */
export function scoreAll(scorer: Scorer, rows: Uint32Array, slotOf: Uint32Array): void {
  scorer.add(rows.map((row) => slotOf[row] ?? 0).sort())
}
