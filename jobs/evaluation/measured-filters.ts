import { mulberry32 } from '#core/platform/seeded-random.ts'

/** Shares of the passages that a filter allows, in percent. */
export const SELECTIVITIES = ['100', '50', '10', '1', '0.1', '0.01'] as const
/**
 * Relation of a filter to the query. `random` keeps rows regardless of content; `near` keeps the rows nearest to the
 * query; `far` keeps the farthest rows. `far` excludes the query's neighbourhood, where a search of near rows fails.
 */
export const FILTER_KINDS = ['random', 'near', 'far'] as const
export type FilterKind = (typeof FILTER_KINDS)[number]
type Selectivity = (typeof SELECTIVITIES)[number]

/** Recall is measured at this depth. */
export const TOP_K = 10

/** A filter for one query. Several kinds and selectivities of a small version are the same filter. */
export interface MeasuredFilter {
  readonly names: readonly (readonly [FilterKind, Selectivity])[]
  /** Makes the bitset of the allowed rows: bit row % 8 of byte row / 8. */
  readonly bits: () => Buffer
  /** Best rows that a search has to find: ten, or all if fewer are allowed. */
  readonly wanted: number
  /** Similarity of the last of them. */
  readonly least: number
}

/** Number of rows that a filter allows, at least 1. */
function keptRowCount(rows: number, selectivity: Selectivity): number {
  return Math.max(1, Math.round((rows * Number(selectivity)) / 100))
}

/** Returns the selectivities that keep fewer rows than recall is measured for. */
export function fewRowsAt(rows: number): readonly Selectivity[] {
  return SELECTIVITIES.filter((selectivity) => keptRowCount(rows, selectivity) < TOP_K)
}

/**
 * Returns the different filters of one query. They depend on the query's number and similarities alone; of equally
 * similar rows, the first count as nearer.
 * @param similarities of all rows with the query.
 */
export function measuredFilters(similarities: Float32Array, queryNumber: number): readonly MeasuredFilter[] {
  const rows = similarities.length
  const ascending = similarities.toSorted()
  const shuffled = shuffledRows(rows, queryNumber)
  const make = (kind: FilterKind, count: number): Omit<MeasuredFilter, 'names'> => {
    const wanted = Math.min(TOP_K, count)
    if (kind === 'near' || count === rows)
      return { wanted, least: ascending[rows - wanted] ?? 0, bits: () => nearestRows(similarities, ascending, count) }
    if (kind === 'far')
      return {
        wanted,
        least: ascending[count - wanted] ?? 0,
        bits: () => complement(nearestRows(similarities, ascending, rows - count), rows),
      }
    const allowed = shuffled.subarray(0, count)
    return { wanted, least: leastOfBest(allowed, wanted, similarities), bits: () => bitsetOf(allowed, rows) }
  }
  const filters = new Map<string, MeasuredFilter>()
  for (const selectivity of SELECTIVITIES) {
    const count = keptRowCount(rows, selectivity)
    for (const kind of FILTER_KINDS) {
      const key = count === rows ? 'all rows' : `${count} ${kind}`
      const filter = filters.get(key) ?? { ...make(kind, count), names: [] }
      filters.set(key, { ...filter, names: [...filter.names, [kind, selectivity]] })
    }
  }
  return [...filters.values()]
}

function nearestRows(similarities: Float32Array, ascending: Float32Array, count: number): Buffer {
  const { length: rows } = similarities
  const threshold = ascending[rows - count] ?? Infinity
  /** Rows as similar as the threshold that still fit. */
  let room = 0
  while (room < count && ascending[rows - count + room] === threshold) room++
  const bits = Buffer.alloc(Math.ceil(rows / 8))
  for (let row = 0; row < rows; row++) {
    const similarity = similarities[row] ?? 0
    if (similarity > threshold || (similarity === threshold && room-- > 0))
      bits[row >>> 3] = (bits[row >>> 3] ?? 0) | (1 << (row & 7))
  }
  return bits
}

function complement(bits: Buffer, rows: number): Buffer {
  for (let at = 0; at < bits.length; at++) bits[at] = ~(bits[at] ?? 0)
  const last = bits.length - 1
  if (rows % 8 !== 0) bits[last] = (bits[last] ?? 0) & ((1 << (rows % 8)) - 1)
  return bits
}

function bitsetOf(rows: Uint32Array, total: number): Buffer {
  const bits = Buffer.alloc(Math.ceil(total / 8))
  for (const row of rows) bits[row >>> 3] = (bits[row >>> 3] ?? 0) | (1 << (row & 7))
  return bits
}

function leastOfBest(rows: Uint32Array, count: number, similarities: Float32Array): number {
  const best = new Float32Array(count).fill(-Infinity)
  for (const row of rows) {
    const similarity = similarities[row] ?? 0
    if (similarity <= (best[0] ?? 0)) continue
    best[0] = similarity
    best.sort()
  }
  return best[0] ?? 0
}

/** Returns all rows in a pseudo-random order (Fisher–Yates) that depends on the seed alone. */
function shuffledRows(rows: number, seed: number): Uint32Array {
  const random = mulberry32(seed)
  const order = new Uint32Array(rows)
  for (let row = 0; row < rows; row++) order[row] = row
  for (let last = rows - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1))
    const row = order[last] ?? 0
    order[last] = order[other] ?? 0
    order[other] = row
  }
  return order
}
