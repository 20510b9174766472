import { createCipheriv } from 'node:crypto'
import type { Leaf } from '#core/index/passages/leaf.ts'
import { sha256 } from '#core/platform/digest.ts'
import { TRACE_BOUNDS } from './bounds.ts'

/** An inclusion proof (RFC 6962, section 2.1.1) of one passage. */
export interface Proof {
  readonly leaf: Leaf
  /** Row of the passage: index of its leaf. */
  readonly row: number
  /** Base64 of the hashes beside the way to the root, from the leaf up. */
  readonly path: readonly string[]
}

/** A line of a file of proofs. Without the `chunk_id` it says nothing of its passage. */
export interface SealedProof {
  /** Hex, by which the proof is looked up. */
  readonly name: string
  /** Base64 of AES-256-GCM, tag last. */
  readonly sealed: string
}

/**
 * Seals a proof under its `chunk_id`, which is derived from the text and cannot be guessed. Name and key are digests
 * of version and `chunk_id`. A key seals one proof, so its nonce is constant.
 */
export function sealProof(versionId: string, proof: Proof): SealedProof {
  const digest = (use: string): Buffer => sha256(`evidence trace 1 ${use} ${versionId} ${proof.leaf.chunk_id}`)
  const cipher = createCipheriv('aes-256-gcm', digest('key'), Buffer.alloc(12))
  const text = cipher.update(JSON.stringify(proof), 'utf8')
  const sealed = Buffer.concat([text, cipher.final(), cipher.getAuthTag()])
  return { name: digest('name').toString('hex'), sealed: sealed.toString('base64') }
}

/** Returns how many hex digits of a proof's name are the name of its file: the fewest for files of bounded size. */
export function fileDigits(passages: number): number {
  let digits = 1
  while (passages > TRACE_BOUNDS.proofsInFileMax * 16 ** digits) digits += 1
  return digits
}
