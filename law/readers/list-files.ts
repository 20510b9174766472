import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { OperatorError } from '#core/platform/errors.ts'
import { READER_BOUNDS } from './bounds.ts'

/**
 * Returns the files of the paths, in order; of a folder every visible file below it, by name.
 * @throws OperatorError for a path that does not exist, and beyond the bound.
 */
export async function filesBelow(paths: readonly string[]): Promise<readonly string[]> {
  const files: string[] = []
  const waiting = [...paths].toReversed()
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const current = path
    const found = await stat(current).catch((cause: unknown) => {
      throw new OperatorError(`cannot read ${current}: name an existing file or folder`, { cause })
    })
    if (!found.isDirectory()) {
      if (found.isFile()) files.push(current)
      if (files.length > READER_BOUNDS.inspectedFilesMax)
        throw new OperatorError(`more than ${READER_BOUNDS.inspectedFilesMax} files: name fewer`)
      continue
    }
    const names = (await readdir(current)).filter((name) => !name.startsWith('.')).toSorted()
    for (const name of names.toReversed()) waiting.push(join(current, name))
  }
  return files
}
