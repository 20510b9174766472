import { z } from 'zod'

/**
 * Binary layouts of an artifact; all little-endian. Rows are passages, numbered from 0 in one order for every file:
 * sorted by language, jurisdiction, first subject, document, revision and place, so that filtered rows lie together.
 *
 * - `vectors.f32`: rows × dimensions float32, unit length; exact scores come from here.
 * - `vectors.i8`: rows × head int8, the head of each vector: its components along the directions in which the vectors
 *   differ most, without their common mean, all in one scale. Inner products with them find the candidates from a sixth
 *   of a vector's components, of a byte each. In the order of slots, not of rows: cell after cell of neighbouring
 *   vectors, by row within a cell.
 * - `cells.bin`: see `cellsLayout`.
 * - `documents.bin`: see `documentsLayout`.
 * - `passages.jsonl`: one `PassageRecord` a line; `passages.offsets`: (rows + 1) float64, byte offset of each line and
 *   the end.
 * - `facets.json`: the dictionaries; `facets.bin`: for every value of languages, jurisdictions, subjects, statuses, in
 *   the dictionary's order, one bitset of ceil(rows / 32) uint32 words (bit row % 32 of word row / 32); then rows int32
 *   of in_force_from and rows int32 of in_force_to, as days since 1970-01-01, open end = OPEN_END_DAY.
 */
export const facetsSchema = z.strictObject({
  languages: z.array(z.string()),
  jurisdictions: z.array(z.string()),
  subjects: z.array(z.string()),
  statuses: z.array(z.string()),
})
/** Distinct values of a version, each list sorted. */
export type Facets = z.infer<typeof facetsSchema>

export const OPEN_END_DAY = 2_147_483_647

export function bitsetWords(rows: number): number {
  return Math.ceil(rows / 32)
}

/** Days since 1970-01-01 of a UTC day YYYY-MM-DD. */
export function dayNumber(day: string): number {
  return Math.floor(Date.parse(`${day}T00:00:00Z`) / 86_400_000)
}

/** Byte offsets of the parts of `facets.bin`. */
export function facetsLayout(
  rows: number,
  facets: Facets,
): { readonly bitsets: number; readonly fromOffset: number; readonly toOffset: number; readonly bytes: number } {
  const bitsets =
    facets.languages.length + facets.jurisdictions.length + facets.subjects.length + facets.statuses.length
  const fromOffset = bitsets * bitsetWords(rows) * 4
  const toOffset = fromOffset + rows * 4
  return { bitsets, fromOffset, toOffset, bytes: toOffset + rows * 4 }
}

/**
 * How many standard deviations beyond its mean a cell is taken to reach: `near` where a query's own neighbourhood is allowed, else
 * `far`.
 */
export interface Reach {
  readonly near: number
  readonly far: number
}

/** How a version's vectors are divided: number of cells, and components of a head. */
export interface Division {
  readonly cells: number
  readonly head: number
}

/** Byte offsets of the parts of a file, and its length. */
export interface CellsLayout {
  readonly startsOffset: number
  readonly standardDeviationsOffset: number
  readonly rowsOffset: number
  readonly directionsOffset: number
  readonly meansOffset: number
  readonly bytes: number
}

/**
 * `cells.bin`: float64 scale of the means; (cells + 1) uint32, the first slot of each cell and the end; cells float32,
 * the standard deviation of the heads of each about their mean, along a direction that a query may have;
 * rows uint32, the row in each slot; head × dimensions float32, the directions by which a query gets its head, none
 * where a head is as long as a vector; cells × head int8, the mean of each cell's heads times the scale.
 */
export function cellsLayout(rows: number, dimensions: number, { cells, head }: Division): CellsLayout {
  const startsOffset = 8
  const standardDeviationsOffset = startsOffset + (cells + 1) * 4
  const rowsOffset = standardDeviationsOffset + cells * 4
  const directionsOffset = rowsOffset + rows * 4
  const meansOffset = directionsOffset + (head === dimensions ? 0 : head * dimensions * 4)
  return {
    startsOffset,
    standardDeviationsOffset,
    rowsOffset,
    directionsOffset,
    meansOffset,
    bytes: meansOffset + cells * head,
  }
}

/** Bytes of one document's id (a UUID). */
export const DOCUMENT_ID_BYTES = 16

/**
 * `documents.bin`: documents × 16 bytes, their ids, ascending; (documents + 1) uint32, the first run of each document
 * and the end; then the runs, two uint32 each: first row and the row after the last.
 */
export function documentsLayout(documents: number): { readonly firstRunsOffset: number; readonly runsOffset: number } {
  const firstRunsOffset = documents * DOCUMENT_ID_BYTES
  return { firstRunsOffset, runsOffset: firstRunsOffset + (documents + 1) * 4 }
}
