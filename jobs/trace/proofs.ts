import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ArtifactError } from '#core/index/artifact-error.ts'
import type { Manifest } from '#core/index/format/manifest.ts'
import { leafHash, leafOf, leafWithoutDays, type Leaf } from '#core/index/passages/leaf.ts'
import { verifiedPassagesIn } from '#core/index/passages/records.ts'
import { writeHashed } from '#core/platform/hashed-file.ts'
import { HASH_BYTES, merkleLevels, merklePath } from '#core/platform/merkle.ts'
import { createPause } from '#core/platform/pause.ts'
import { TRACE_BOUNDS } from './bounds.ts'
import { createCipheriv } from 'node:crypto'
import { sha256 } from '#core/platform/digest.ts'

export interface ProofsInput {
  readonly artifactFolder: string
  readonly manifest: Manifest
  /** New folder for the files of proofs. */
  readonly target: string
  /** Proofs that are held at once; their files are the same. */
  readonly heldMax?: number
  readonly signal?: AbortSignal | undefined
}

/**
 * Writes the sealed inclusion proof of every passage. Files are named by the first digits of the names of their proofs,
 * and each possible file is there, so that a missing proof differs from a missing file.
 * @throws ArtifactError for passages that are not those under the Merkle root of the manifest.
 */
export async function writeProofs(input: ProofsInput): Promise<void> {
  const { artifactFolder, manifest, target, heldMax = TRACE_BOUNDS.proofsHeldMax, signal } = input
  const leaves = await readFile(join(artifactFolder, 'passages.leaves'))
  const levels = merkleLevels(leaves)
  if (levels.at(-1)?.toString('hex') !== manifest.merkle_root || leaves.length !== manifest.passages * HASH_BYTES)
    throw new ArtifactError('passages.leaves does not have the Merkle root that the manifest states.')
  await mkdir(target, { recursive: true })
  const digits = fileDigits(manifest.passages)
  const files = 16 ** digits
  const filesAtOnce = Math.max(1, Math.floor((files * heldMax) / manifest.passages))
  for (let from = 0; from < files; from += filesAtOnce) {
    const held = new Map<string, SealedProof[]>()
    for (let file = from; file < Math.min(files, from + filesAtOnce); file += 1)
      held.set(file.toString(16).padStart(digits, '0'), [])
    for await (const proof of sealedProofs({ artifactFolder, manifest, levels, signal }))
      held.get(proof.name.slice(0, digits))?.push(proof)
    for (const [file, proofs] of held) {
      const lines = proofs.toSorted((a, b) => (a.name < b.name ? -1 : 1)).map((proof) => `${JSON.stringify(proof)}\n`)
      await writeHashed(join(target, `${file}.jsonl`), [Buffer.from(lines.join(''))])
    }
  }
}

type ProofsOf = Pick<ProofsInput, 'artifactFolder' | 'manifest' | 'signal'> & { readonly levels: readonly Buffer[] }

async function* sealedProofs({ artifactFolder, manifest, levels, signal }: ProofsOf): AsyncGenerator<SealedProof> {
  const pause = createPause(signal)
  const [leaves] = levels
  let row = 0
  for await (const passage of verifiedPassagesIn(artifactFolder, manifest.files['passages.jsonl'])) {
    if (row % TRACE_BOUNDS.passagesBetweenTurnsMax === 0) await pause()
    const known = leaves?.subarray(row * HASH_BYTES, (row + 1) * HASH_BYTES)
    const leaf = [leafOf(passage), leafWithoutDays(passage)].find((each) => known?.equals(leafHash(each)) === true)
    if (leaf === undefined)
      throw new ArtifactError('passages.jsonl holds a passage that is not under the Merkle root of the manifest.')
    const path = merklePath(levels, row).map((hash) => hash.toString('base64'))
    yield sealProof(manifest.version_id, { leaf, row, path })
    row += 1
  }
}

/** An inclusion proof (RFC 6962, section 2.1.1) of one passage. */
interface Proof {
  readonly leaf: Leaf
  /** Row of the passage: index of its leaf. */
  readonly row: number
  /** Base64 of the hashes beside the way to the root, from the leaf up. */
  readonly path: readonly string[]
}

/** A line of a file of proofs. Without the `chunk_id` it says nothing of its passage. */
type SealedProof = ReturnType<typeof sealProof>

/**
 * Seals a proof under its `chunk_id`, which is derived from the text and cannot be guessed. Name and key are digests
 * of version and `chunk_id`. A key seals one proof, so its nonce is constant.
 * @returns `name`: hex, by which the proof is looked up; `sealed`: Base64 of AES-256-GCM, tag last.
 */
function sealProof(versionId: string, proof: Proof) {
  const digest = (use: string): Buffer => sha256(`evidence trace 1 ${use} ${versionId} ${proof.leaf.chunk_id}`)
  const cipher = createCipheriv('aes-256-gcm', digest('key'), Buffer.alloc(12))
  const text = cipher.update(JSON.stringify(proof), 'utf8')
  const sealed = Buffer.concat([text, cipher.final(), cipher.getAuthTag()])
  return { name: digest('name').toString('hex'), sealed: sealed.toString('base64') }
}

/** Returns how many hex digits of a proof's name are the name of its file: the fewest for files of bounded size. */
function fileDigits(passages: number): number {
  let digits = 1
  while (passages > TRACE_BOUNDS.proofsInFileMax * 16 ** digits) digits += 1
  return digits
}
