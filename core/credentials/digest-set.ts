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
      for (let [low, high] = [0, size]; low < high;) {
        const middle = (low + high) >>> 1
        const order = digest.compare(sorted, middle * DIGEST_BYTES, (middle + 1) * DIGEST_BYTES)
        if (order === 0) return true
        if (order < 0) high = middle
        else low = middle + 1
      }
      return false
    },
  }
}
