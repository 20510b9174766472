import { digestFile } from '#core/platform/hashed-file.ts'
import type { FileDigest } from '#core/platform/hashed-file.ts'

/** Task of a hashing thread. */
export function digest(path: string): Promise<FileDigest> {
  return digestFile(path)
}
