import type { Filters, FoundPassage, SearchReply } from '#core/rpc/search-node.ts'
import { allowedRows, listRows } from './allowed.ts'
import type { Allowed } from './allowed.ts'
import { approximateRows } from './approximate.ts'
import { exactRows } from './exact.ts'
import type { Mapping } from './mapping.ts'
import { firstPlan, nextPlan } from './plan.ts'
import type { Plan, PlanInput } from './plan.ts'
import { selectPassages } from './select.ts'
import type { Selected } from './select.ts'

export interface SearchInput {
  /** Any positive length, in a buffer of its own. */
  readonly vector: Float32Array
  readonly limit: number
  readonly filters: Filters
  readonly expansion: number
}

/**
 * Candidates beyond the limit that are scored again from float32, because rounding may have put a row behind its place: bf16 (graph)
 * rounds a cosine by about 0.00004 at 768 dimensions, int8 (exact) by about 0.0003.
 */
const GRAPH_SPARE = 8
const EXACT_FACTOR = 3
const EXACT_SPARE = 24

interface Ranked {
  readonly plan: Plan['kind']
  /** Rows, nearest first. */
  readonly rows: readonly number[]
}

/**
 * One search, on a scoring thread: allow → plan and score → select.
 * Always `limit` passages where so many are allowed; the same input gives the same reply on every replica.
 * Lexical scoring stands beside `dense` once there is a lexical index, and a `fuse` stage between the two and `selectPassages`.
 */
export function search(mapping: Mapping, input: SearchInput): SearchReply {
  const query = unit(input.vector)
  const allowed = allowedRows(input.filters, mapping.passages, mapping.facets, mapping.allowedCache)
  const ranked = dense(mapping, query, allowed, input)
  const selected = selectPassages(ranked.rows, query, input.limit, mapping.vectors, (row) => mapping.passage(row))
  return { passages: selected.map(found), plan: ranked.plan, allowed: allowed.count }
}

/** Graph search while its answer can be trusted and is cheaper, else exact scoring of the allowed rows. */
function dense(mapping: Mapping, query: Float32Array, allowed: Allowed, { limit, expansion }: SearchInput): Ranked {
  if (allowed.count === 0) return { plan: 'exact', rows: [] }
  const needed = Math.min(limit, allowed.count)
  const input: PlanInput = { passages: mapping.passages, dimensions: mapping.dimensions, allowed: allowed.count, runs: allowed.runs, limit: needed, expansion }
  let plan = firstPlan(input)
  while (plan.kind === 'graph') {
    const answer = approximateRows(mapping.index, query, plan.neighbours, allowed.bits, needed, limit + GRAPH_SPARE)
    const next = nextPlan(answer, plan.neighbours, input)
    if (next === undefined) return { plan: 'graph', rows: answer.rows }
    plan = next
  }
  return { plan: 'exact', rows: exactRows(mapping.quantized, listRows(allowed), query, limit * EXACT_FACTOR + EXACT_SPARE) }
}

function unit(vector: Float32Array): Float32Array {
  let squares = 0
  for (const value of vector) squares += value * value
  const scale = 1 / Math.sqrt(squares)
  return vector.map((value) => value * scale)
}

/** What a reply shows of a passage. */
function found({ passage, score }: Selected): FoundPassage {
  const { chunk_id, text, document, citation, metadata, place } = passage
  return { chunk_id, text, score, document, citation, metadata, place }
}
