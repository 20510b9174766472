import { sha256 } from '#core/platform/digest.ts'
import { HASH_BYTES } from '#core/platform/merkle.ts'
import { PASSAGE_DIGEST_BYTES } from './layout.ts'
import { leafHash, leafOf } from './leaf.ts'
import type { PassageRecord } from './record.ts'

/**
 * Returns the lines of `passages.jsonl`, and collects the files beside it: offsets, digests and leaves; see `layout.ts`.
 * @param rows number of rows; they are added in order.
 */
export function createPassagesWriter(rows: number) {
  const offsets = new Float64Array(rows + 1)
  const digests = new Uint8Array(rows * PASSAGE_DIGEST_BYTES)
  const leaves = Buffer.alloc(rows * HASH_BYTES)
  return {
    /** @returns the row's line. */
    add(row: number, record: PassageRecord) {
      const line = Buffer.from(`${JSON.stringify(record)}\n`)
      offsets[row + 1] = (offsets[row] ?? 0) + line.length
      digests.set(sha256(line).subarray(0, PASSAGE_DIGEST_BYTES), row * PASSAGE_DIGEST_BYTES)
      leafHash(leafOf(record)).copy(leaves, row * HASH_BYTES)
      return line
    },
    finish: () => ({ offsets: new Uint8Array(offsets.buffer), digests, leaves }),
  }
}
