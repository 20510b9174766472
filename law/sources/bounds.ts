/** Bounds of the files that an import or a capture takes in. */
export const SOURCE_BOUNDS = {
  sourceFileBytesMax: 8 * 1024 * 1024 * 1024,
  sourceFilesMax: 500_000,
  /** Sources that are captured at once; each waits for the disk most of the time. */
  sourceCapturesMax: 8,
  /** One read of a source. */
  readBlockBytes: 256 * 1024,
} as const
