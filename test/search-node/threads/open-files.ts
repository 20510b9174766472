import { readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'

/** Names of the files of a folder that a process holds open, on any thread. */
export function openFiles(folder: string, pid = process.pid): string[] {
  const descriptors = `/proc/${pid}/fd`
  return readdirSync(descriptors).flatMap((descriptor) => {
    try {
      const path = readlinkSync(join(descriptors, descriptor))
      return path.startsWith(folder) ? [path.slice(folder.length + 1)] : []
    } catch {
      return []
    }
  })
}
