import { z } from 'zod'

/** The lists of a version and the graph that finds them, in its manifest; see decision 0027. */
export const ivfSchema = z.strictObject({
  count: z.int().positive(),
  /** Links of a centroid in the graph. */
  connectivity: z.int().positive(),
  /** The fewest lists that hold NPROBE_RECALL of the true ten nearest, most promising first. */
  nprobe: z.int().positive(),
  /**
   * How many standard deviations of the rows of a list around its centroid the last of the nearest lies above the
   * centroid of the list that holds one of them, at most; for DEVIATIONS_RECALL of the nearest 10, 100 and 1,000.
   * The deviation is the radius of the list times one number for each query.
   */
  deviations: z.number().nonnegative(),
})
export type IvfDescription = z.infer<typeof ivfSchema>

/** Share of the true nearest rows in the first `nprobe` lists. */
export const NPROBE_RECALL = 0.99
/** Share of the nearest rows that `deviations` holds for. A search finds more: it stops only where it holds for all. */
export const DEVIATIONS_RECALL = 0.985

/**
 * Layout of `clusters.u32`:
 *
 * - (lists + 1) × uint32: the first position of each list, and the end.
 * - lists × float32: the radius of each list, the root of the mean squared distance of its rows from the
 *   centroid; at least RADIUS_MIN_SHARE of the mean radius.
 * - rows × uint32: the row of each position.
 */
export function ivfLayout(rows: number, lists: number) {
  const radiiOffset = (lists + 1) * 4
  const rowsOffset = radiiOffset + lists * 4
  return { radiiOffset, rowsOffset, bytes: rowsOffset + rows * 4 }
}

/**
 * The product with a centroid comes from its SQ4 vector; a list of one row, or of equal ones, is no surer than that.
 */
export const RADIUS_MIN_SHARE = 0.1

/** Returns the first fault of `clusters.u32` as one sentence, or undefined if there is none. */
export function ivfFault(bytes: Buffer, rows: number, lists: number): string | undefined {
  const { radiiOffset, rowsOffset, bytes: length } = ivfLayout(rows, lists)
  if (bytes.length !== length) return 'clusters.u32 does not fit the numbers of passages and lists.'
  let start = 0
  for (let list = 0; list <= lists; list++) {
    const next = bytes.readUInt32LE(list * 4)
    if (list === 0 ? next !== 0 : next <= start) return 'The lists of clusters.u32 do not follow each other.'
    start = next
  }
  if (start !== rows) return 'The lists of clusters.u32 do not end with the passages.'
  for (let at = radiiOffset; at < rowsOffset; at += 4) {
    const radius = bytes.readFloatLE(at)
    if (!(radius >= 0 && radius <= 1)) return 'A list of clusters.u32 has a radius that no rows of unit length have.'
  }
  const seen = new Uint8Array(rows)
  for (let at = rowsOffset; at < length; at += 4) {
    const row = bytes.readUInt32LE(at)
    if (row >= rows || seen[row] === 1) return 'clusters.u32 does not hold every passage once.'
    seen[row] = 1
  }
  return undefined
}
