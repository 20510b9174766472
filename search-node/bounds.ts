/** Bounds of a search node: its calls, its threads and its versions. */
export const SEARCH_NODE_BOUNDS = {
  /** Characters of each fact that a caller states of a request, in the log. */
  callFactCharactersMax: 64,
  searchThreadsMax: 256,
  searchQueueMax: 256,
  searchFilterValuesMax: 1_000,
  /** Bitsets of filters of one version that a scoring thread keeps; fewer where they are larger. */
  filterCacheEntriesMax: 64,
  filterCacheBytesMax: 4 * 1_024 * 1_024,
  /**
   * Candidates of each ranking that predictors use. So many are rescored by words and by query expansions at least;
   * more change no measured figure by more than 0.003 (decision 0008).
   */
  predictorCandidatesMax: 50,
  /**
   * Candidates by vector: rescoring more moves no measured figure by more than 0.003 (decision 0008). Predictors look at
   * more of the nearest rows, which need no other score.
   */
  vectorCandidatesMin: 20,
  /** Words for provisions that labels of a version teach. */
  taughtWordsMax: 256,
  releaseTimeoutMs: 30_000,
  /** Between two looks at the list of versions to serve; doubled with each failure, up to the second. */
  servingLookEveryMs: 1_000,
  servingLookPauseMaxMs: 30_000,
  /**
   * Young generation of a scoring thread, except where `SEARCH_NODE_OPTIONS` set it. A search creates only short-lived
   * objects. With this size it takes no more time, and a thread keeps 80 MB less than by default.
   */
  scoringYoungGenerationMb: 16,
  /** Idle time after which the thread that verifies artifacts ends. */
  verifierIdleMs: 10_000,
  verifyQueueMax: 64,
  /**
   * Loaded versions are read again in blocks, with a pause after each. At 5 MiB a second, a version of 5 GB takes a
   * quarter of an hour, and hashing less than a hundredth of a core.
   */
  scrubBlockBytes: 1_024 * 1_024,
  scrubPauseMs: 200,
  /** A short look at the index of each loaded version, and all of its documents again. */
  engineLookEveryMs: 10_000,
  engineContentEveryMs: 6 * 3_600_000,
} as const
