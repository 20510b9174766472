import { digestFile } from './hashed-file.ts'
import type { FileDigest } from './hashed-file.ts'

/** What a hashing thread does. */
export function digest(path: string): Promise<FileDigest> {
  return digestFile(path)
}
