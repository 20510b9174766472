import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Manifest } from '#core/index/format/manifest.ts'
import { leafHash, leafOf } from '#core/index/passages/leaf.ts'
import { verifiedPassagesIn } from '#core/index/passages/records.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { HASH_BYTES, merkleRoot } from '#core/platform/merkle.ts'
import { createPlaceReader, isOwnText } from '#law/import/parts/text-at.ts'
import { BUILD_BOUNDS } from './bounds.ts'
import type { BuildContext } from './context.ts'

/**
 * Reads every passage of a written artifact again: its text stands at its place in the captured bytes, and the Merkle
 * root of the manifest is the one over the passages.
 * @throws OperatorError naming the first passage that is not found again.
 */
export async function checkPlaces(
  { source, store, signal }: Pick<BuildContext, 'source' | 'store' | 'signal'>,
  { folder, manifest }: { readonly folder: string; readonly manifest: Manifest },
): Promise<void> {
  const files = new Map(source.snapshots.map(({ id, sha256 }) => [id, store.snapshotFile(sha256)]))
  const leaves = await readFile(join(folder, 'passages.leaves'))
  const reader = createPlaceReader()
  try {
    let row = 0
    for await (const passage of verifiedPassagesIn(folder, manifest.files['passages.jsonl'])) {
      const path = files.get(passage.citation.source_snapshot_id)
      const found = path === undefined ? undefined : await reader.textAt(path, passage.selector)
      if (found === undefined || !isOwnText(passage.text, passage.selector, found))
        throw new OperatorError(
          `${passage.source_id} is not found again at its place in the captured bytes: import its source again and ` +
            'build from that. If it fails again, report the release.',
        )
      const leaf = leaves.subarray(row * HASH_BYTES, (row + 1) * HASH_BYTES)
      if (!leafHash(leafOf(passage)).equals(leaf)) throw new Error(`the leaf of row ${row} is of another passage`)
      row++
      if (row % BUILD_BOUNDS.sortYieldEveryRows === 0) signal.throwIfAborted()
    }
  } finally {
    reader.close()
  }
  if (merkleRoot(leaves).toString('hex') !== manifest.merkle_root)
    throw new Error('the Merkle root of the manifest is of other passages')
}
