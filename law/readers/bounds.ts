export const READER_BOUNDS = {
  /** A file of one of these formats is held in memory whole while it is read. */
  fileBytesMax: 32 * 1024 * 1024,
  markdownFileBytesMax: 8 * 1024 * 1024,
  /** Depth of Markdown blocks within blocks; a list takes two levels. A file that nests deeper is not read. */
  markdownNestingMax: 32,
  /** One text between two tags. */
  nodeCharactersMax: 4 * 1024 * 1024,
  nodesMax: 2_000_000,
  depthMax: 200,
  /** Bytes from which a format is recognised. */
  probeBytes: 64 * 1024,
  pagesMax: 5_000,
  /** Operators of a PDF for each MB begun; each takes the parser up to five microseconds. */
  operatorsPerMb: 1_000_000,
  /** What the parts of a DOCX, or the streams of a PDF, may hold together once unpacked. */
  unpackedBytesMax: 128 * 1024 * 1024,
  unpackedPartsMax: 4_096,
  /** Entries of the list of what is in no passage, and characters of each. */
  remainderMax: 1_000,
  remainderCharactersMax: 200,
  warningsMax: 200,
  /** Share of the characters of a body that lie in a passage or in a named omission. */
  coverageMin: 0.995,
  inspectedFilesMax: 10_000,
} as const
