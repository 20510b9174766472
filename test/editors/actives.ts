import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseMapping } from '#law/import/mapping/mapping.ts'
import { importFiles } from '#test/support/import.ts'
import type { ActiveLaw } from './cases.ts'
import { isRefused, type Laboratory } from './laboratory.ts'
import { surfaceOf } from './surface.ts'
import type { Sources } from './sources.ts'

/** Builds each corpus once. Its own losses are accepted by name. */
export async function activateAll(laboratory: Laboratory, corpora: readonly Sources[]): Promise<readonly ActiveLaw[]> {
  const actives: ActiveLaw[] = []
  for (const sources of corpora) {
    const accepted = await lossesOf(sources)
    const law = await laboratory.build(sources, accepted)
    if (isRefused(law)) throw new Error(`${sources.name} is refused: ${law.message}`)
    actives.push({ law, surface: surfaceOf(law), accepted })
  }
  return actives
}

async function lossesOf({ files, mapping }: Sources): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'law-'))
  using ending = new DisposableStack()
  ending.defer(() => rmSync(folder, { recursive: true, force: true }))
  for (const [name, text] of files) writeFileSync(join(folder, name), text)
  const paths = [...files.keys()].map((name) => join(folder, name))
  const { report } = await importFiles(paths, mapping === undefined ? undefined : parseMapping(mapping))
  return report.losses.map(({ name }) => name)
}
