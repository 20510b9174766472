import { READER_BOUNDS } from '#law/readers/bounds.ts'

/** Bounds of a clone, which may be hostile. */
export const GIT_BOUNDS = {
  commitsMax: 1_000_000,
  /** Files of law in one tree, and versions of all of them. */
  filesMax: 500_000,
  commitBytesMax: 1024 * 1024,
  treeBytesMax: 64 * 1024 * 1024,
  treeDepthMax: 16,
  blobBytesMax: READER_BOUNDS.markdownFileBytesMax,
  /** A larger blob ends the reading of the clone. */
  skippedBytesMax: 256 * 1024 * 1024,
  packedRefsBytesMax: 16 * 1024 * 1024,
  manifestBytesMax: 64 * 1024,
  /** Git answers one object within this time, or the clone is refused. */
  objectTimeoutMs: 60_000,
} as const
