import { sha256 } from './digest.ts'

export const HASH_BYTES = 32
const NODE = Buffer.of(1)

/**
 * Returns the levels of the Merkle tree over leaf hashes (RFC 6962, section 2.1), leaves first and the root last. A
 * last node without a sibling rises as it is, which gives the tree of the RFC.
 */
export function merkleLevels(leaves: Buffer): readonly Buffer[] {
  const levels = [leaves]
  for (let below = leaves; below.length > HASH_BYTES; below = levels.at(-1) ?? below) {
    const level = Buffer.allocUnsafe(Math.ceil(below.length / (2 * HASH_BYTES)) * HASH_BYTES)
    for (let at = 0; at < level.length; at += HASH_BYTES) {
      const pair = below.subarray(2 * at, 2 * (at + HASH_BYTES))
      ;(pair.length === HASH_BYTES ? pair : sha256(Buffer.concat([NODE, pair]))).copy(level, at)
    }
    levels.push(level)
  }
  return levels
}

/** Returns the inclusion proof of a leaf (RFC 6962, section 2.1.1): the hashes beside its way to the root, in order. */
export function merklePath(levels: readonly Buffer[], leaf: number): readonly Buffer[] {
  const path: Buffer[] = []
  for (let [level, node] = [0, leaf]; level < levels.length - 1; level += 1, node >>= 1) {
    const beside = (node ^ 1) * HASH_BYTES
    const hash = levels[level]?.subarray(beside, beside + HASH_BYTES)
    if (hash?.length === HASH_BYTES) path.push(hash)
  }
  return path
}

/** Returns the root over at least one leaf hash. */
export function merkleRoot(leaves: Buffer): Buffer {
  return merkleLevels(leaves).at(-1) ?? leaves
}
