import { Index, MetricKind, ScalarKind } from 'usearch'
import type { GraphShape } from './graph.ts'

/** Links of a row, and rows looked at for them; see decision 0027. */
const CONNECTIVITY = 32
const EXPANSION_ADD = 256
/** int8 components added in one native call, which takes about a second in a large graph. */
const BATCH_COMPONENTS = 1_048_576

/** Builds a graph from rows that arrive in order. */
export interface GraphWriter {
  /** @param vectors concatenated, unit length. */
  add(vectors: Float32Array): void
  /** Adds the rest and writes the file. It is not synced. */
  save(path: string): GraphShape
}

/**
 * The bytes of a graph depend on the rows, on the number of rows that one call adds, and on nothing else: one thread
 * adds them, and inner products of int8 are the same on every processor.
 */
export function createGraphWriter(dimensions: number): GraphWriter {
  const batchRows = Math.max(64, Math.floor(BATCH_COMPONENTS / dimensions))
  const index = new Index({
    dimensions,
    metric: MetricKind.IP,
    quantization: ScalarKind.I8,
    connectivity: CONNECTIVITY,
    expansion_add: EXPANSION_ADD,
    expansion_search: 1,
    multi: false,
  })
  const batch = new Float32Array(batchRows * dimensions)
  let [rows, filled] = [0, 0]
  function flush(): void {
    const count = filled / dimensions
    if (count === 0) return
    const keys = BigUint64Array.from({ length: count }, (_, at) => BigInt(rows + at))
    index.add(keys, batch.slice(0, filled), 1)
    rows += count
    filled = 0
  }
  return {
    add(vectors) {
      for (let at = 0; at < vectors.length;) {
        const part = vectors.subarray(at, at + batch.length - filled)
        batch.set(part, filled)
        filled += part.length
        at += part.length
        if (filled === batch.length) flush()
      }
    },
    save(path) {
      flush()
      index.save(path)
      return { connectivity: CONNECTIVITY, expansion_add: EXPANSION_ADD, batch_rows: batchRows }
    },
  }
}
