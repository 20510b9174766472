/** Bounds of a search and of the search node; part of `BOUNDS`. */
export const SEARCH_BOUNDS = {
  searchLimitMax: 200,
  searchThreadsMax: 256,
  searchQueueMax: 256,
  /** Bitsets of filters of one version that a scoring thread keeps; fewer where they are larger. */
  filterCacheEntriesMax: 64,
  filterCacheBytesMax: 4 * 1_024 * 1_024,
  /**
   * Files of words of a version up to this size are kept in memory; of a million passages at most the dictionary is as
   * small.
   */
  residentFileBytesMax: 24 * 1_024 * 1_024,
  /** Codes of vectors of a version of so many MiB are kept in memory; those of a million passages are larger. */
  residentCodesMbDefault: 64,
  /** WebAssembly addresses 4 GiB. */
  residentCodesMbMax: 4_095,
  searchFilterValuesMax: 1_000,
  rowsScoredMinDefault: 64,
  rowsScoredMinMax: 4_096,
  versionsPerNodeMax: 64,
  releaseTimeoutMs: 30_000,
  /**
   * Young generation of a scoring thread, except where `SEARCH_NODE_OPTIONS` set it. A search creates only short-lived
   * objects. With this size it takes no more time, and a thread keeps 80 MB less than by default.
   */
  scoringYoungGenerationMb: 16,
  /** Idle time after which the thread that verifies artifacts ends. */
  verifierIdleMs: 10_000,
  verifyQueueMax: 64,
} as const
