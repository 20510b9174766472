import { z } from 'zod'

/** How a graph was built; its bytes follow from these numbers and the vectors. */
export const graphShapeSchema = z.strictObject({
  /** Links of a row. */
  connectivity: z.int().positive(),
  /** Rows that are looked at for the links of a row. */
  expansion_add: z.int().positive(),
  /** Rows that one call adds. */
  batch_rows: z.int().positive(),
})
export type GraphShape = z.infer<typeof graphShapeSchema>

/** The graph of a version, in its manifest. */
export const graphSchema = graphShapeSchema.extend({
  /** Rows that a search looks at: the fewest that find GRAPH_RECALL of the true ten, or EXPANSION_MAX. */
  expansion: z.int().positive(),
  /** The share of the true ten that it finds, and the number of queries that it was measured with. */
  recall: z.number().min(0).max(1),
  queries: z.int().positive(),
})
export type Graph = z.infer<typeof graphSchema>

/** Share of the true ten nearest that a search of the graph has to find. */
export const GRAPH_RECALL = 0.99
/** A graph that finds less is used where a scan would take longer than this. */
export const INCOMPLETE_GRAPH_SCAN_MAX_MS = 4
export const EXPANSION_MAX = 4_096
