import { readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'

/** Names of the files of a folder that this process holds open, on any thread. */
export function openFiles(folder: string): string[] {
  return readdirSync('/proc/self/fd').flatMap((descriptor) => {
    try {
      const path = readlinkSync(join('/proc/self/fd', descriptor))
      return path.startsWith(folder) ? [path.slice(folder.length + 1)] : []
    } catch {
      return []
    }
  })
}
