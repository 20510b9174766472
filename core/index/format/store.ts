import { randomUUID } from 'node:crypto'
import { mkdir, open, rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * The artifact store as a directory: `artifacts/<projection id>/`, `snapshots/<sha256>`, `work/<build id>/`,
 * `reports/<version id>.html` and `.json`.
 * Nothing is ever overwritten in place: files are written under a temporary name, synced and renamed.
 */
export interface ArtifactStore {
  artifactFolder(projectionId: string): string
  snapshotFile(sha256Hex: string): string
  workFolder(buildId: string): string
  /** The page that shows a reviewer how a version was evaluated. */
  reportFile(versionId: string): string
  /** The same as JSON. */
  figuresFile(versionId: string): string
}

/** @param url a `file:` URL, already validated. */
export function createArtifactStore(url: string): ArtifactStore {
  const root = fileURLToPath(url)
  return {
    artifactFolder: (projectionId) => join(root, 'artifacts', projectionId),
    snapshotFile: (sha256Hex) => join(root, 'snapshots', sha256Hex.slice(0, 2), sha256Hex),
    workFolder: (buildId) => join(root, 'work', buildId),
    reportFile: (versionId) => join(root, 'reports', `${versionId}.html`),
    figuresFile: (versionId) => join(root, 'reports', `${versionId}.json`),
  }
}

/** Writes a whole file durably: temporary name that no other process uses, fsync, rename, fsync of the folder. */
export async function writeDurably(path: string, bytes: Uint8Array | string): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  const temporary = `${path}.${randomUUID()}.tmp`
  const file = await open(temporary, 'wx')
  try {
    await file.writeFile(bytes)
    await file.sync()
  } finally {
    await file.close()
  }
  await renameDurably(temporary, path)
}

export async function renameDurably(from: string, to: string): Promise<void> {
  await rename(from, to)
  const folder = await open(dirname(to), 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
