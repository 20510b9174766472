import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { MANIFEST_FILE, SIGNATURE_FILE, filesOf, manifestText, signManifest } from '#core/index/format/manifest.ts'
import { sha256 } from '#core/platform/digest.ts'
import type { Manifest } from '#core/index/format/manifest.ts'
import { renameDurably } from '#core/platform/durable-file.ts'
import { derivedUuid } from '#core/platform/ids.ts'
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
  const bytes = Buffer.from(manifestText(manifest))
  if (!existsSync(folder)) {
    const unfinished = `${folder}.tmp`
    rmSync(unfinished, { recursive: true, force: true })
    mkdirSync(unfinished)
    for (const { name } of filesOf(manifest)) linkSync(join(artifact.folder, name), join(unfinished, name))
    writeFileSync(join(unfinished, MANIFEST_FILE), bytes)
    writeFileSync(join(unfinished, SIGNATURE_FILE), signManifest(bytes, privateKeyDer))
    await renameDurably(unfinished, folder)
  }
  const manifestDigest = sha256(readFileSync(join(folder, MANIFEST_FILE)))
  return {
    manifest,
    manifestDigest,
    folder,
    versionId,
    buildId: derivedUuid('bench clone build', artifact.versionId),
  }
}
