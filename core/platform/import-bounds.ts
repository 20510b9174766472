/** Bounds of the import: what it reads, stages and reports. */
export const IMPORT_BOUNDS = {
  sourceFileBytesMax: 8 * 1024 * 1024 * 1024,
  sourceFilesMax: 500_000,
  /** Sources that are captured at once; each waits for the disk most of the time. */
  sourceCapturesMax: 8,
  reportEntriesMax: 10_000,
  /** Contradictions that the refusal of an import names. */
  importConflictsNamedMax: 20,
  /** Sources of one document of one day that a warning names. */
  importSourcesNamedMax: 5,
  /** Records of one id in one import. */
  recordsPerIdMax: 1_000,
  /** Page cache of the staging file of an import. */
  stagingCacheKib: 64 * 1024,
  stagingTransactionRows: 20_000,
  /** Documents and facets whose row numbers stay in memory. */
  stagingCachedIdsMax: 10_000,
  /** One line of a JSONL source: one record. */
  lineBytesMax: 1024 * 1024,
  /** Drafts collected before they are appended to the spill file. */
  spillBufferBytes: 1024 * 1024,
  /** Sorted rows after which the event loop gets a turn. */
  sortYieldEveryRows: 500,
  referencesPerRecordMax: 8,
  /** Vocabularies in memory. Sources arrive act by act, and a vocabulary takes about 1.5 ms to create. */
  vocabulariesMax: 64,
} as const
