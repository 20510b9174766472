/** Largest gap that is read to save a system call. One call costs about as much as copying this many bytes. */
export const GAP_BYTES = 8_192

/**
 * Returns the last position of the rows that one call reads with the one at `from`.
 * @param distanceMax largest distance between two rows that follow each other. @param spanMax that of the first and the
 * last one. A row below the one before it begins another span.
 */
export function spanEnd(rows: Uint32Array, from: number, distanceMax: number, spanMax: number): number {
  const first = rows[from] ?? 0
  let to = from
  for (; to + 1 < rows.length; to++) {
    const [row = 0, next = 0] = [rows[to], rows[to + 1]]
    if (next < row || next - row > distanceMax || next - first > spanMax) break
  }
  return to
}
