import { existsSync, linkSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { MANIFEST_FILE, filesOf, manifestText } from '#core/index/format/manifest.ts'
import { sha256 } from '#core/platform/digest.ts'
import type { Manifest } from '#core/index/format/manifest.ts'
import { renameDurably } from '#core/platform/durable-file.ts'
import { derivedUuid } from '#core/platform/ids.ts'
import { writeSignedManifest } from '#test/support/artifact.ts'
import type { BenchArtifact } from './artifact.ts'

/**
 * Another version with the same content, for activation back and forth. Its files are hard links to the first one's;
 * its manifest and signature are its own. A search node verifies and opens it like any other. Both share the page
 * cache.
 */
export async function cloneOf(artifact: BenchArtifact, privateKeyDer: Buffer): Promise<BenchArtifact> {
  const versionId = derivedUuid('bench clone version', artifact.versionId)
  const folder = join(dirname(artifact.folder), versionId)
  const manifest: Manifest = { ...artifact.manifest, version_id: versionId }
  if (!existsSync(folder)) await linkVersion(artifact.folder, folder, manifest, privateKeyDer)
  const manifestDigest = sha256(readFileSync(join(folder, MANIFEST_FILE)))
  return {
    manifest,
    manifestDigest,
    folder,
    versionId,
    buildId: derivedUuid('bench clone build', artifact.versionId),
  }
}

/** Makes the folder of a version from files of another one, as hard links, with a manifest and signature of its own. */
export async function linkVersion(from: string, to: string, manifest: Manifest, privateKeyDer: Buffer): Promise<void> {
  const unfinished = `${to}.tmp`
  rmSync(unfinished, { recursive: true, force: true })
  mkdirSync(unfinished)
  for (const { name } of filesOf(manifest)) linkSync(join(from, name), join(unfinished, name))
  writeSignedManifest(unfinished, manifestText(manifest), privateKeyDer)
  await renameDurably(unfinished, to)
}
