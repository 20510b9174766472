import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { MANIFEST_FILE, SIGNATURE_FILE, signManifest } from '#core/index/format/manifest.ts'
import { sha256 } from '#core/platform/digest.ts'

/** Writes the text of a manifest and its signature into a folder. @returns the digest of the manifest. */
export function writeSignedManifest(folder: string, text: string, privateKeyDer: Buffer): Buffer {
  const bytes = Buffer.from(text)
  writeFileSync(join(folder, MANIFEST_FILE), bytes)
  writeFileSync(join(folder, SIGNATURE_FILE), signManifest(bytes, privateKeyDer))
  return sha256(bytes)
}
