import { GRAPH_RECALL, INCOMPLETE_GRAPH_SCAN_MAX_MS } from '#core/index/vectors/graph.ts'
import type { Graph } from '#core/index/vectors/graph.ts'

type MeasuredGraph = Pick<Graph, 'expansion' | 'recall' | 'queries'>

/** Returns what a build measured of its graph, in one line: `99.2 % of the ten nearest, expansion 256, 200 queries`. */
export function graphInWords({ recall, expansion, queries }: MeasuredGraph): string {
  return `${percent(recall)} of the ten nearest, expansion ${expansion}, ${queries} queries`
}

/** Returns a warning for an operator, or undefined where the graph finds the wanted share. */
export function graphWarning({ recall }: Pick<Graph, 'recall'>): string | undefined {
  if (recall >= GRAPH_RECALL) return undefined
  return (
    `the graph finds ${percent(recall)} of the ten nearest passages and not ${percent(GRAPH_RECALL)}, so vectors are ` +
    `scanned while that takes under ${INCOMPLETE_GRAPH_SCAN_MAX_MS} ms; longer scans are replaced by the graph, ` +
    'which may miss passages'
  )
}

/** Rounds down, so that a share below a bound never reads as the bound. */
function percent(share: number): string {
  return `${Math.floor(share * 1_000 + 1e-9) / 10} %`
}
