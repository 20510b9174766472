import { MetricKind, exactSearch } from 'usearch'
import { createTopK } from '#core/platform/top-k.ts'
import { vectorBlocks } from './blocks.ts'
import type { VectorFile } from './blocks.ts'
import { EXPANSION_MAX, GRAPH_RECALL } from './graph.ts'
import type { Graph } from './graph.ts'
import type { GraphReader } from './graph-reader.ts'

const NEIGHBOURS = 10
/** Sampled rows fill up the queries to this number. */
const QUERIES_MIN = 200
const QUERIES_MAX = 400
/** Tried in turn. */
const EXPANSIONS = [64, 96, 128, 192, 256, 384, 512, 768, 1_024, 1_536, 2_048, 3_072, EXPANSION_MAX] as const

/**
 * Finds the smallest expansion with which a graph finds GRAPH_RECALL of the true ten nearest of its version.
 * @param sampleQueries unit length; the first QUERIES_MAX are used, and rows of the version fill them up.
 */
export async function measureGraph(
  graph: GraphReader,
  file: VectorFile,
  sampleQueries: readonly Float32Array[],
  pause: () => Promise<void>,
): Promise<Pick<Graph, 'expansion' | 'recall' | 'queries'>> {
  const queries = await queriesOf(file, sampleQueries.slice(0, QUERIES_MAX), pause)
  const truth = await nearestOf(file, queries, pause)
  let measured = { expansion: EXPANSIONS[0] as number, recall: 0, queries: queries.length }
  for (const expansion of EXPANSIONS) {
    let hits = 0
    for (const [at, query] of queries.entries()) {
      const found = new Set(graph.search(query, expansion))
      hits += (truth[at] ?? []).filter((row) => found.has(row)).length
    }
    await pause()
    measured = { ...measured, expansion, recall: hits / truth.reduce((sum, rows) => sum + rows.length, 0) }
    if (measured.recall >= GRAPH_RECALL) break
  }
  return measured
}

async function queriesOf(
  file: VectorFile,
  given: readonly Float32Array[],
  pause: () => Promise<void>,
): Promise<readonly Float32Array[]> {
  const missing = Math.max(0, Math.min(file.rows, QUERIES_MIN - given.length))
  if (missing === 0) return given
  const queries = [...given]
  const every = file.rows / missing
  let sampled = 0
  for await (const { firstRow, vectors } of vectorBlocks(file, pause)) {
    const end = firstRow + vectors.length / file.dimensions
    for (; sampled < missing && Math.floor(sampled * every) < end; sampled++) {
      const at = (Math.floor(sampled * every) - firstRow) * file.dimensions
      queries.push(vectors.slice(at, at + file.dimensions))
    }
  }
  return queries
}

/** The nearest rows of each query, by comparing it with every row. */
async function nearestOf(
  file: VectorFile,
  queries: readonly Float32Array[],
  pause: () => Promise<void>,
): Promise<readonly (readonly number[])[]> {
  const best = queries.map(() => createTopK(NEIGHBOURS))
  const asked = new Float32Array(queries.length * file.dimensions)
  for (const [at, query] of queries.entries()) asked.set(query, at * file.dimensions)
  for await (const { firstRow, vectors } of vectorBlocks(file, pause)) {
    const taken = Math.min(NEIGHBOURS, vectors.length / file.dimensions)
    const { keys, distances } = exactSearch(vectors, asked, file.dimensions, taken, MetricKind.IP, 1)
    for (const [query, near] of best.entries())
      for (let at = query * taken; at < (query + 1) * taken; at++)
        near.offer(firstRow + Number(keys[at]), -(distances[at] ?? 0))
  }
  return best.map((near) => [...near.sorted().ids])
}
