import { readdir, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

/** Removes the artifact of a failed build, complete or not. */
export async function removeArtifact(folder: string): Promise<void> {
  await removeUnfinished(folder)
  await rm(folder, { recursive: true, force: true })
}

/** Removes temporary folders that killed runs of this build left beside the artifact's folder. */
export async function removeUnfinished(folder: string): Promise<void> {
  const names = await readdir(dirname(folder)).catch(() => [])
  for (const name of names)
    if (name.startsWith(`${basename(folder)}.`) && name.endsWith('.tmp'))
      await rm(join(dirname(folder), name), { recursive: true, force: true })
}
