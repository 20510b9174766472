/**
 * Every bound of the service, with its unit and bound at the end of its name. Relations between them are asserted when
 * the module loads. What a plan may set lives in `core/domain/quota-plan.ts`; these are constants of the code.
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
  /** Faults of one request that a 400 names. */
  errorDetailsMax: 20,
  /** An idle connection of a caller stays open this long. */
  keepAliveTimeoutMs: 60_000,
  internalRequestTimeoutMs: 10_000,

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
  /** Acts that one version may hold. */
  actsMax: 20_000,
  actIdCharactersMax: 120,
  aliasCharactersMax: 200,
  aliasesPerActMax: 50,
  referenceCharactersMax: 300,
  referencesPerRecordMax: 8,
  /** Vocabularies kept at a time: sources come act by act, and each takes some 1.5 ms to make. */
  vocabulariesMax: 64,
  embedBatchTexts: 64,
  /** One read of a source or snapshot. */
  readBlockBytes: 256 * 1024,
  /** Drafts collected before they are appended to the spill file. */
  spillBufferBytes: 1024 * 1024,
  /** The event loop gets a turn after so many sorted rows. */
  sortYieldEveryRows: 500,

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

  // Stop of a service.
  drainMaxMs: 120_000,
  /** Long enough for a load balancer to see that new requests are refused. */
  refusingMinMs: 250,
  /** Time for the last refusals to be sent before open connections are closed. */
  lastRepliesMs: 250,
  /** Beyond the drain period and the hard deadline: closes connections to Redis, Postgres and the search nodes. */
  gatewayCloseTimeoutMs: 5_000,

  // Database.
  gatewayDatabaseConnectionsMax: 24,
  jobsDatabaseConnectionsMax: 8,
  buildDatabaseConnectionsMax: 2,
  databaseConnectionIdleMs: 30_000,
  databaseProbeTimeoutMs: 2_000,
  /** Connection of the role that creates databases and logins. */
  provisionConnectTimeoutMs: 10_000,
  insertRowsMax: 1_000,
  /** What the row of a build or activation keeps of an error. */
  failureMessageCharactersMax: 2_000,

  /**
   * Requests whose reservations, or whose outcomes, are committed together; and how many such commits of one gateway
   * are under way at a time.
   */
  reservationBatchMax: 64,
  reservationBatchesAtOnce: 2,

  // Access.
  accessCacheMs: 4_000,
  accessCacheEntriesMax: 10_000,
  /** A lost connection for access notifications is made anew after so long. */
  accessListenRetryMs: 1_000,
  validDigestsMax: 100_000,
  failedKeysPerAddressPerMinute: 30,
  failureWindowMs: 60_000,
  failureAddressesMax: 10_000,

  // Admission and limit counters.
  admissionAttemptsMax: 4,
  /** Pause after the first attempt; the pause after the nth is n times as long. */
  admissionPauseMs: 25,
  /** Waits for a request that holds the Idempotency-Key and is not on record yet: 25, 50 and 75 ms. */
  idempotencyWaitsMax: 3,
  /** Organizations whose epoch a gateway remembers. */
  epochsRememberedMax: 10_000,
  /** A Redis that may evict counters is asked again after so long. */
  limitStoreRetryMs: 1_000,
  /** Commands of one round trip while counters are rebuilt. */
  rebuildBatchCommands: 1_000,
  /** Longer than any month, so that no count of a running month expires. */
  countsKeptDays: 40,
  redisReconnectMaxMs: 2_000,

  // Search node.
  searchLimitMax: 200,
  searchThreadsMax: 256,
  searchQueueMax: 256,
  filterCacheEntriesMax: 64,
  searchFilterValuesMax: 1_000,
  rowsScoredMinDefault: 64,
  rowsScoredMinMax: 4_096,
  versionsPerNodeMax: 64,
  releaseTimeoutMs: 30_000,
  /**
   * The young generation of a scoring thread. A search leaves only short-lived objects behind: collected this often they
   * cost no more time, and a thread keeps 80 MB less of them than by default.
   */
  scoringYoungGenerationMb: 16,
  /** The thread that verifies artifacts ends after so long without a task. */
  verifierIdleMs: 10_000,
  verifyQueueMax: 64,

  // gRPC between the services and the search nodes.
  grpcConnectionAgeMs: 60_000,
  grpcReconnectFirstMs: 100,
  grpcReconnectMaxMs: 2_000,
  grpcKeepaliveEveryMs: 10_000,
  grpcKeepaliveTimeoutMs: 5_000,
  grpcMessageBytesMax: 4 * 1024 * 1024,
  versionIdleBeforeReleaseMs: 60_000,
  prepareTimeoutMs: 120_000,
  prepareAttemptsMax: 3,
  statusTimeoutMs: 2_000,
  healthProbeTimeoutMs: 3_000,
  /** A node that failed is asked last for so long. */
  searchNodeCoolDownMs: 1_000,
  /** What is reported of a node's refusal. */
  nodeFaultCharactersMax: 300,

  // Jobs.
  buildConcurrencyMax: 16,
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
  /** The wait before the second attempt of a job; each further wait is twice as long. */
  jobRetryFirstMs: 500,
  /**
   * With waits that double from a second: an embedding provider or search tier may be away for eight minutes before a
   * build is given up.
   */
  buildAttemptsMax: 10,
  buildRetryFirstMs: 1_000,
  /** Finished builds and activations that their queue remembers, at most and for so long. */
  finishedJobsMax: 200,
  succeededJobsKeptSeconds: 86_400,
  failedJobsKeptSeconds: 7 * 86_400,
  failedLedgerJobsMax: 1_000,
  failedMaintenanceJobsMax: 100,
  queueEventsMax: 1_000,
  garbageCollectionEveryMs: 300_000,
  /** How long after its end a build's leftovers stay: a run that was overtaken has noticed by then. */
  garbageBuildsOlderThanMs: 60_000,
  /** A file under a temporary name that nobody wrote to for so long belongs to a process that is gone. */
  garbageFilesOlderThanMs: 86_400_000,
  garbageNamesMax: 1_000,

  // Evaluation.
  evaluationQuestionsMax: 20_000,
  evaluationQuestionsBytesMax: 64 * 1024 * 1024,
  /** Known-item questions of a version without a question set. */
  evaluationSampleMax: 200,
  extractCharactersMin: 40,
  extractCharactersMax: 300,
  evaluationConcurrency: 4,
  evaluationAttemptsMax: 3,
  /** Fewer judged questions do not tell one ranking from another; more than the maximum add little. */
  comparedQuestionsMin: 50,
  comparedQuestionsMax: 300,
  /** Each is compared with exact search under eighteen filters. */
  filteredQuestionsMax: 15,
  /** Asked before any time is measured, so that files are mapped and code is compiled. */
  warmUpQuestionsMax: 10,
  timedQuestionsMax: 100,
  /** Records of one ranking that the evaluation keeps for its report. */
  topRecordsKept: 5,

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
assertLess('admissionPauseMs', 'requestDeadlineMs')
assertLess('refusingMinMs', 'hardDeadlineMs')
assertLess('lastRepliesMs', 'gatewayCloseTimeoutMs')
assertLess('accessListenRetryMs', 'accessCacheMs')
assertLess('transactionIdleMs', 'ledgerWatermarkTrailMs')
assertLess('prepareTimeoutMs', 'activationTimeoutMs')
assertLess('grpcReconnectFirstMs', 'grpcReconnectMaxMs')
assertLess('grpcKeepaliveTimeoutMs', 'grpcKeepaliveEveryMs')
assertLess('idempotencyKeyCharactersMin', 'idempotencyKeyCharactersMax')
assertLess('rowsScoredMinDefault', 'rowsScoredMinMax')
assertLess('extractCharactersMin', 'extractCharactersMax')
assertLess('comparedQuestionsMin', 'comparedQuestionsMax')
assertLess('warmUpQuestionsMax', 'timedQuestionsMax')
assertLess('succeededJobsKeptSeconds', 'failedJobsKeptSeconds')
