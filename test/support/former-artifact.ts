import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CELL_FILES, filesOf, manifestSchema, manifestText } from '#core/index/format/manifest.ts'
import type { Manifest } from '#core/index/format/manifest.ts'
import { sha256 } from '#core/platform/digest.ts'
import { writeSignedManifest } from './signed-manifest.ts'
import type { TestArtifact } from './artifact.ts'

/** Files that former formats do not have. */
const PRESENT_FILES: readonly string[] = ['vectors.i4', ...CELL_FILES]

/**
 * Turns an artifact into one of a former format, in place. Its cells hold no vectors: no release that reads this format
 * beside others reads its cells.
 */
export function toFormerFormat(artifact: TestArtifact, format: 3 | 4, privateKeyDer: Buffer): TestArtifact {
  const { folder, manifest: present } = artifact
  const { cosines, ...others } = present
  for (const name of PRESENT_FILES) rmSync(join(folder, name), { force: true })
  for (const name of ['vectors.i8', 'cells.bin']) writeFileSync(join(folder, name), `the former ${name}`)
  const kept = filesOf(present)
    .map(({ name }) => name)
    .filter((name) => !PRESENT_FILES.includes(name))
  const manifest: Manifest = manifestSchema.parse({
    ...others,
    ...(format === 3 ? {} : { cosines }),
    format,
    index: { metric: 'cos', scalar: 'i8', head: 8, cells: 1, reach: { near: 1, far: 1 } },
    files: Object.fromEntries(
      [...kept, 'vectors.i8', 'cells.bin'].map((name) => {
        const bytes = readFileSync(join(folder, name))
        return [name, { bytes: bytes.length, sha256: sha256(bytes).toString('hex') }]
      }),
    ),
  })
  return { ...artifact, manifest, manifestDigest: writeSignedManifest(folder, manifestText(manifest), privateKeyDer) }
}
