import { Index, MetricKind, ScalarKind } from 'usearch'
import type { GraphShape } from './graph.ts'

/** One thread's mapping of the graph of a version. It is unmapped when it is collected. */
export interface GraphReader {
  /**
   * @param query unit length.
   * @param expansion rows to look at; at most the rows of the graph are found.
   * @returns the rows found, nearest first by int8.
   */
  search(query: Float32Array, expansion: number): Uint32Array
}

/**
 * Maps a verified file. usearch checks nothing in it: damage ends the process or gives wrong rows.
 * @throws Error if the file holds another graph than its manifest says.
 */
export function openGraph(
  path: string,
  rows: number,
  dimensions: number,
  shape: Pick<GraphShape, 'connectivity'>,
): GraphReader {
  const index = new Index({
    dimensions,
    metric: MetricKind.IP,
    quantization: ScalarKind.I8,
    connectivity: shape.connectivity,
    expansion_add: 1,
    expansion_search: 1,
    multi: false,
  })
  index.view(path)
  // `view` takes all of these from the file.
  if (index.size() !== rows || index.dimensions() !== dimensions || index.connectivity() !== shape.connectivity)
    throw new Error('graph.usearch is not the graph that the manifest describes')
  return {
    // The expansion of a search is the number of rows that it asks for.
    search: (query, expansion) => lowWords(index.search(query, Math.min(rows, expansion), 1).keys),
  }
}

/** The low 32 bits of each key; keys are row numbers. */
function lowWords(keys: BigUint64Array): Uint32Array {
  const words = new Uint32Array(keys.buffer, keys.byteOffset, keys.length * 2)
  const low = new Uint32Array(keys.length)
  for (let at = 0; at < low.length; at++) low[at] = words[at * 2] ?? 0
  return low
}
