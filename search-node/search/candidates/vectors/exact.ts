import { MetricKind, exactSearch } from 'usearch'
import type { RowFile } from '#core/index/vectors/row-file.ts'
import { createTopK } from '#core/platform/top-k.ts'

/** Scores slots of `vectors.i8` against one query and keeps the nearest. */
export interface Scorer {
  /** @param slots ascending. */
  add(slots: Uint32Array): void
  /**
   * The nearest rows so far, nearest first. Heads do not give the exact order: callers request `candidatesOf` their
   * limit and rescore those rows from float32.
   */
  rows(): Uint32Array
  /** Inner product of the k-th nearest so far; -Infinity while there are fewer. */
  productOf(k: number): number
}

/** @param rowOf the row in each slot. @param head of the query. @param wanted rows to keep. */
export function createScorer(heads: RowFile, rowOf: Uint32Array, head: Int8Array, wanted: number): Scorer {
  const best = createTopK(wanted)

  function scorePiece(slots: Uint32Array): void {
    const block = new Int8Array(heads.read(slots), 0, slots.length * head.length)
    const { keys, distances } = exactSearch(block, head, head.length, Math.min(wanted, slots.length), MetricKind.IP, 1)
    for (let position = 0; position < distances.length; position++) {
      const nearness = -(distances[position] ?? 0)
      if (nearness < best.threshold()) return
      best.offer(rowOf[slots[Number(keys[position])] ?? 0] ?? 0, nearness)
    }
  }
  return {
    add(slots) {
      for (let at = 0; at < slots.length; at += heads.rowsMax) scorePiece(slots.subarray(at, at + heads.rowsMax))
    },
    rows: () => best.sorted().ids,
    productOf: (k) => 1 + best.scoreOf(k),
  }
}

/** Scores every given row. */
export function scoreAll(scorer: Scorer, rows: Uint32Array, slotOf: Uint32Array): void {
  scorer.add(rows.map((row) => slotOf[row] ?? 0).sort())
}
