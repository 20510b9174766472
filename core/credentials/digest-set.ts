import { firstIndex } from '#core/platform/first-index.ts'

const DIGEST_BYTES = 32

export type DigestSet = ReturnType<typeof createDigestSet>

/**
 * Searches the bytes as they are. To create 10,000 strings would block the event loop for 20 ms.
 * @param sorted digests of 32 bytes in ascending order, without anything between them.
 */
export function createDigestSet(sorted: Buffer) {
  if (sorted.length % DIGEST_BYTES !== 0) throw new RangeError(`a digest has ${DIGEST_BYTES} bytes`)
  const size = sorted.length / DIGEST_BYTES
  return {
    size,
    has: (digest: Buffer) => {
      const orderAt = (at: number): number => digest.compare(sorted, at * DIGEST_BYTES, (at + 1) * DIGEST_BYTES)
      const found = firstIndex(size, (at) => orderAt(at) <= 0)
      return found < size && orderAt(found) === 0
    },
  }
}
