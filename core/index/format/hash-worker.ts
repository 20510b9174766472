import { digestFile } from '#core/platform/hashed-file.ts'
import type { FileDigest } from '#core/platform/hashed-file.ts'

/** What a hashing thread does. */
export function digest(path: string): Promise<FileDigest> {
  return digestFile(path)
}
