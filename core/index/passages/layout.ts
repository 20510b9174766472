/**
 * - `passages.jsonl`: one `PassageRecord` a line, in row order.
 * - `passages.offsets`: (rows + 1) float64, little-endian: the byte offset of each line, and the end.
 * - `passages.sha256`: for each row, the first `PASSAGE_DIGEST_BYTES` of the SHA-256 of its line, line end included.
 * - `passages.leaves`: for each row, the hash of its leaf in the Merkle tree (`leaf.ts`).
 */
export const PASSAGE_DIGEST_BYTES = 16

export function passageOffsetsBytes(rows: number): number {
  return (rows + 1) * Float64Array.BYTES_PER_ELEMENT
}

/** Returns the first fault of `passages.offsets` as one sentence, or undefined if there is none. */
export function passageOffsetsFault(bytes: Buffer, rows: number, passagesBytes: number): string | undefined {
  if (bytes.length !== passageOffsetsBytes(rows))
    return 'passages.offsets does not hold one offset a passage and the end.'
  let previous = -1
  for (let at = 0; at < bytes.length; at += 8) {
    const offset = bytes.readDoubleLE(at)
    if (!Number.isSafeInteger(offset) || offset <= previous) return 'passages.offsets does not increase.'
    previous = offset
  }
  return bytes.readDoubleLE(0) === 0 && previous === passagesBytes
    ? undefined
    : 'passages.offsets does not span passages.jsonl.'
}
