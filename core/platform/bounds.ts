/**
 * Every bound of the service, with its unit at the end of its name. Relations between them are asserted when the module
 * loads. What a plan may set lives in `plan.ts`; these are constants of the transport, the stages and the build.
 */
export const BOUNDS = {
  // Transport (contract: Limits).
  bodyBytesMax: 16_384,
  idempotencyKeyCharactersMin: 16,
  idempotencyKeyCharactersMax: 128,
  headerBytesMax: 16_384,
  topKSchemaMax: 100,
  queryCharactersMax: 4_000,
  filterValuesMax: 64,
  filterValueCharactersMax: 100,

  // Build.
  passageCharactersMax: 4_000,
  /** Every field of one reply passage together, as JSON: leaves room for the rest of the smallest allowed reply. */
  passageJsonBytesMax: 40_000,
  titleCharactersMax: 1_000,
  urlCharactersMax: 2_000,
  labelCharactersMax: 500,
  sourceFileBytesMax: 512 * 1024 * 1024,
  sourceFilesMax: 20_000,
  reportEntriesMax: 10_000,
  /** One line of a JSONL source: one record. */
  lineBytesMax: 1024 * 1024,
  markdownFileBytesMax: 16 * 1024 * 1024,
  headingCharactersMax: 2_000,
  sourceIdCharactersMax: 500,
  /** Distinct values of one facet of a version. */
  facetValuesMax: 1_000,
  embedBatchTexts: 64,

  // Deadlines of one request, outermost first.
  hardDeadlineMs: 20_000,
  requestDeadlineMs: 10_000,
  bodyReadTimeoutMs: 5_000,
  embedTimeoutMaxMs: 9_000,
  searchTimeoutMs: 3_000,
  rerankTimeoutMaxMs: 5_000,
  /** One node's share of it, so that a node that hangs leaves time for another. */
  searchAttemptTimeoutMs: 1_200,
  databaseStatementTimeoutMs: 2_000,
  databaseQueryTimeoutMs: 2_500,
  /** A process that hangs within a transaction loses it, and its locks, after so long. */
  transactionIdleMs: 20_000,
  redisCommandTimeoutMs: 1_000,

  /**
   * Requests whose reservations, or whose outcomes, are committed together; and how many such commits of one gateway
   * are under way at a time.
   */
  reservationBatchMax: 64,
  reservationBatchesAtOnce: 2,

  // Access.
  accessCacheMs: 4_000,
  accessCacheEntriesMax: 10_000,
  failedKeysPerAddressPerMinute: 30,
  failureAddressesMax: 10_000,

  // Search node.
  searchLimitMax: 200,
  searchQueueMax: 256,
  filterCacheEntriesMax: 64,
  searchFilterValuesMax: 1_000,
  rowsScoredMinDefault: 64,
  rowsScoredMinMax: 4_096,
  versionsPerNodeMax: 64,
  releaseTimeoutMs: 30_000,
  grpcConnectionAgeMs: 60_000,
  versionIdleBeforeReleaseMs: 60_000,
  prepareTimeoutMs: 120_000,
  statusTimeoutMs: 2_000,
  grpcMessageBytesMax: 4 * 1024 * 1024,

  // Jobs.
  ledgerBatchMax: 200,
  ledgerCollectMs: 20,
  ledgerWaitingMax: 10_000,
  ledgerAppendCollectMs: 10,
  ledgerConcurrency: 200,
  /** A finished reservation this old without its entry has lost its job. */
  ledgerJobLostAfterMs: 10_000,
  /** How far the watermark trails: longer than any transaction that finishes a reservation. */
  ledgerWatermarkTrailMs: 60_000,
  /** Passages embedded and written as one durable step of a build. */
  vectorFileRows: 512,
  embedBatchTimeoutMs: 60_000,
  buildStatementTimeoutMs: 60_000,
  buildProgressEveryMs: 500,
  evaluationQuestionsMax: 20_000,
  evaluationSampleMax: 200,
  evaluationQuestionsBytesMax: 64 * 1024 * 1024,
  jobLockMs: 15_000,
  jobStalledEveryMs: 5_000,
  jobStallsMax: 10,
  requeueMax: 100,
  heartbeatEveryMs: 5_000,
  jobsStopTimeoutMs: 30_000,
  sweepBatchMax: 500,
  sweepEveryMs: 5_000,
  reconcileEveryMs: 2_000,
  activationTimeoutMs: 180_000,
  jobAttemptsMax: 5,
  /**
   * With waits that double from a second: an embedding provider or search tier may be away for eight minutes before a
   * build is given up.
   */
  buildAttemptsMax: 10,
  garbageCollectionEveryMs: 300_000,
  /** How long after its end a build's leftovers stay: a run that was overtaken has noticed by then. */
  garbageBuildsOlderThanMs: 60_000,
  /** A file under a temporary name that nobody wrote to for so long belongs to a process that is gone. */
  garbageFilesOlderThanMs: 86_400_000,
  garbageNamesMax: 1_000,

  // The operator's command line.
  operatorStatementTimeoutMs: 60_000,
  operatorRowsDefault: 100,
  operatorRowsMax: 10_000,
  operatorPollMs: 250,
} as const

/** Thrown at load when two bounds contradict each other: a programming fault. */
function assertLess(smaller: keyof typeof BOUNDS, larger: keyof typeof BOUNDS): void {
  if (BOUNDS[smaller] >= BOUNDS[larger]) throw new Error(`bound ${smaller} must be less than ${larger}`)
}

assertLess('databaseStatementTimeoutMs', 'databaseQueryTimeoutMs')
assertLess('databaseQueryTimeoutMs', 'requestDeadlineMs')
assertLess('redisCommandTimeoutMs', 'requestDeadlineMs')
assertLess('embedTimeoutMaxMs', 'requestDeadlineMs')
assertLess('searchTimeoutMs', 'requestDeadlineMs')
assertLess('searchAttemptTimeoutMs', 'searchTimeoutMs')
assertLess('rerankTimeoutMaxMs', 'requestDeadlineMs')
assertLess('bodyReadTimeoutMs', 'requestDeadlineMs')
assertLess('requestDeadlineMs', 'hardDeadlineMs')
assertLess('transactionIdleMs', 'ledgerWatermarkTrailMs')
assertLess('prepareTimeoutMs', 'activationTimeoutMs')
