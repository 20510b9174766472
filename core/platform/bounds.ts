import { createBoundOrder } from './bound-order.ts'
import { CAPACITY_BOUNDS } from './capacity-bounds.ts'
import { EMBEDDING_BOUNDS } from './embedding-bounds.ts'
import { EVALUATION_BOUNDS } from './evaluation-bounds.ts'
import { IMPORT_BOUNDS } from './import-bounds.ts'
import { LIMIT_BOUNDS } from './limit-bounds.ts'
import { OPERATOR_BOUNDS } from './operator-bounds.ts'
import { SEARCH_BOUNDS } from './search-bounds.ts'
import { VECTOR_CACHE_BOUNDS } from './vector-cache-bounds.ts'

/**
 * Every bound of the service, with its unit and bound at the end of its name. Relations between them are asserted when
 * the module loads. These are constants of the code; `core/domain/quota-plan.ts` holds what a plan may set.
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
  /** Faults of one request that a 400 reply names. */
  errorDetailsMax: 20,
  /** Time for which an idle connection of a caller stays open. */
  keepAliveTimeoutMs: 60_000,
  internalRequestTimeoutMs: 10_000,
  /** Time between two samples of the lag of the gateway's event loop. Each sample wakes the process. */
  eventLoopLagEveryMs: 50,

  // Build.
  /** Public keys under which the manifest of a version may be signed. */
  manifestKeysMax: 8,
  passageCharactersMax: 4_000,
  /** All fields of one reply passage as JSON. The rest of the smallest allowed reply still fits. */
  passageJsonBytesMax: 40_000,
  titleCharactersMax: 1_000,
  urlCharactersMax: 2_000,
  labelCharactersMax: 500,
  markdownFileBytesMax: 4 * 1024 * 1024,
  /** Depth of blocks within blocks; a list takes two levels. A file that nests deeper is not read. */
  markdownNestingMax: 32,
  frontMatterCharactersMax: 16 * 1024,
  /** Size of a compiled pattern of a mapping. */
  patternInstructionsMax: 500,
  /** Instructions that one step of a match may have active: 100,000 characters then cost at most 100 ms. */
  patternActiveInstructionsMax: 48,
  /** A value that a mapping makes of a record; the longest text that a reader yields fits. */
  mappedValueCharactersMax: 4 * 1024 * 1024,
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
  /** One read of a source or snapshot. */
  readBlockBytes: 256 * 1024,

  // Deadlines of one request, outermost first.
  hardDeadlineMs: 20_000,
  requestDeadlineMs: 10_000,
  bodyReadTimeoutMs: 5_000,
  rerankReplyBytesMax: 1024 * 1024,
  searchTimeoutMs: 3_000,
  rerankTimeoutMaxMs: 5_000,
  /** One node's share of the search time-out, so that time remains for another node if one hangs. */
  searchAttemptTimeoutMs: 1_200,
  databaseStatementTimeoutMs: 2_000,
  databaseQueryTimeoutMs: 2_500,
  /** Idle time after which Postgres ends a transaction and releases its locks. */
  transactionIdleMs: 20_000,
  /** Also the time until a server has answered everything that a new connection asks. */
  redisCommandTimeoutMs: 1_000,

  // Redis. Their sums are asserted below.
  /** Time within which a server that is no longer the primary is left and the primary is found. */
  redisFailoverMaxMs: 2_000,
  redisCheckEveryMs: 300,
  sentinelTimeoutMs: 300,
  redisReconnectFirstMs: 50,
  redisReconnectMaxMs: 250,
  /** Time for a server to close a connection that the client ended. */
  redisDisconnectTimeoutMs: 100,

  // State of the dependencies, which the gateway checks in the background.
  dependencyCheckEveryMs: 1_000,
  /** Pause between two checks until the dependency is reached for the first time. */
  dependencyConnectEveryMs: 100,
  dependencyCheckTimeoutMs: 1_000,

  // Stop of a service.
  drainMaxMs: 120_000,
  /** Time for a load balancer to see that new requests are refused. */
  refusingMinMs: 250,
  /** Time for the last refusals to be sent before open connections are closed. */
  lastRepliesMs: 250,
  /** Time after the drain period and the hard deadline to close connections to Redis, Postgres and the search nodes. */
  gatewayCloseTimeoutMs: 5_000,

  // Database.
  gatewayDatabaseConnectionsMax: 24,
  jobsDatabaseConnectionsMax: 8,
  buildDatabaseConnectionsMax: 2,
  databaseConnectionIdleMs: 30_000,
  databaseProbeTimeoutMs: 2_000,
  /** Connection of the role that creates databases and logins. */
  provisionConnectTimeoutMs: 10_000,
  /** Wait of `operator migrate` for another process that migrates the same database. */
  migrationProcessLockTimeoutMs: 60_000,
  /** Statements of the services queue behind a migration that waits for a table, so it waits less than they may. */
  migrationTableLockTimeoutMs: 1_500,
  insertRowsMax: 1_000,
  /** Characters of an error that the row of a build or activation keeps. */
  failureMessageCharactersMax: 2_000,
  /** Rejected versions in a row that a rollback passes over. */
  rollbackStepsMax: 1_000,

  /** Reservations or outcomes of one group commit, and concurrent group commits of one gateway. */
  reservationBatchMax: 64,
  reservationBatchesAtOnce: 2,
  /** A group commit waits for so many calls of each request that the gateway works on, and for at most so long. */
  reservationBatchShare: 1 / 6,
  reservationCollectMs: 10,

  // Access.
  accessCacheMs: 4_000,
  accessCacheEntriesMax: 10_000,
  /** Pause before a lost connection for access notifications is opened again. */
  accessListenRetryMs: 1_000,
  validDigestsMax: 100_000,
  failedKeysPerAddressPerMinute: 30,
  failureWindowMs: 60_000,
  failureAddressesMax: 10_000,

  ...CAPACITY_BOUNDS,
  ...EMBEDDING_BOUNDS,
  ...IMPORT_BOUNDS,
  ...LIMIT_BOUNDS,
  ...SEARCH_BOUNDS,

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
  /** Time for which a failed node is tried last. */
  searchNodeCoolDownMs: 1_000,
  /** Characters of a node's refusal that are reported. */
  nodeFaultCharactersMax: 300,

  // Jobs.
  buildConcurrencyMax: 16,
  ledgerBatchMax: 200,
  /** Time for which a gateway collects ids for one job. A job costs all processes together 2 ms of CPU. */
  ledgerCollectMs: 250,
  ledgerWaitingMax: 10_000,
  /** Jobs of several entries that one worker appends at once. */
  ledgerConcurrency: 4,
  /** Age at which a finished reservation without an entry has lost its job. Until then it may still be refunded. */
  ledgerJobLostAfterMs: 30_000,
  /** Passages embedded and written as one durable step of a build. */
  vectorFileRows: 2_048,
  buildStatementTimeoutMs: 60_000,
  buildProgressEveryMs: 500,
  buildProgressLogEveryMs: 30_000,
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
   * Waits between the runs of a build double from one second to one minute. An embedding provider or search tier may be
   * unavailable for eight minutes before a build fails.
   */
  buildFailedRunsMax: 14,
  buildRetryFirstMs: 1_000,
  buildRetryMaxMs: 60_000,
  buildOutOfMemoryRunsMax: 2,
  /** Runs whose worker gave no sign. A worker that is killed with its build for memory gives none. */
  buildLostRunsMax: 3,
  buildHeartbeatEveryMs: 5_000,
  /** Age of its last heartbeat after which a run counts as lost, and another one takes the build over. */
  buildLostAfterMs: 20_000,
  buildStandardErrorCharactersKept: 8_192,
  buildHeapMbMin: 128,
  buildHeapMbMax: 1_048_576,
  buildHeapDefaultMbMin: 512,
  buildHeapDefaultMbMax: 16_384,
  /** Time for which a failed build can be asked for again. Its stage outputs are kept a little longer. */
  failedBuildRetryableMs: 86_400_000,
  /** Finished builds and activations that their queue keeps: their number, and for how long. */
  finishedJobsMax: 200,
  succeededJobsKeptSeconds: 86_400,
  failedJobsKeptSeconds: 7 * 86_400,
  failedLedgerJobsMax: 1_000,
  failedMaintenanceJobsMax: 100,
  queueEventsMax: 1_000,
  garbageCollectionEveryMs: 300_000,
  /** Time for which the files of a finished build stay. A run that was overtaken has stopped by then. */
  garbageBuildsOlderThanMs: 60_000,
  garbageFailedBuildsOlderThanMs: 90_000_000,
  /** Time since the last write after which a temporary file counts as abandoned. */
  garbageFilesOlderThanMs: 86_400_000,
  garbageNamesMax: 1_000,

  ...EVALUATION_BOUNDS,
  ...OPERATOR_BOUNDS,
  ...VECTOR_CACHE_BOUNDS,
} as const

const { assertLess, assertSumLess } = createBoundOrder(BOUNDS)

assertLess('databaseStatementTimeoutMs', 'databaseQueryTimeoutMs')
assertLess('databaseQueryTimeoutMs', 'requestDeadlineMs')
assertLess('migrationTableLockTimeoutMs', 'databaseStatementTimeoutMs')
assertLess('redisCommandTimeoutMs', 'requestDeadlineMs')
assertLess('embedTimeoutMaxMs', 'requestDeadlineMs')
assertLess('embedBackoffMaxMs', 'requestDeadlineMs')
assertLess('embedBatchTimeoutMs', 'embedBuildRetryDefaultMs')
assertLess('embedBuildBackoffMaxMs', 'embedBuildRetryMinMs')
assertLess('embedBuildRetryMinMs', 'embedBuildRetryDefaultMs')
assertLess('embedBuildRetryDefaultMs', 'embedBuildRetryMaxMs')
assertLess('databaseQueryTimeoutMs', 'idempotencyHoldMs')
assertLess('idempotencyHoldMs', 'idempotencyWaitMs')
assertLess('idempotencyWaitMs', 'requestDeadlineMs')
assertLess('rebuildWaitMs', 'requestDeadlineMs')
assertLess('rebuildStatementTimeoutMs', 'rebuildTimeoutMs')
assertLess('databaseQueryTimeoutMs', 'recordTimeoutMs')
assertLess('recordTimeoutMs', 'requestDeadlineMs')
assertLess('reservationCollectMs', 'requestWorkTargetMs')
assertSumLess(['databaseQueryTimeoutMs', 'searchTimeoutMs'], 'requestDeadlineMs')
assertLess('searchAttemptTimeoutMs', 'searchTimeoutMs')
assertLess('rerankTimeoutMaxMs', 'requestDeadlineMs')
assertLess('bodyReadTimeoutMs', 'requestDeadlineMs')
assertLess('requestDeadlineMs', 'hardDeadlineMs')
assertLess('requestsActiveMin', 'requestsActiveFirst')
assertLess('requestsActiveFirst', 'requestsActiveMax')
assertLess('requestsActiveMax', 'requestsAdmittedMax')
// A search that waits for others under the same limit still ends within its attempt.
assertLess('requestWorkTargetMs', 'searchAttemptTimeoutMs')
assertLess('requestSlotTimeoutMs', 'requestWorkTargetMs')
assertLess('hardDeadlineMs', 'ledgerJobLostAfterMs')
assertLess('admissionPauseMs', 'requestDeadlineMs')
assertLess('refusingMinMs', 'hardDeadlineMs')
assertLess('lastRepliesMs', 'gatewayCloseTimeoutMs')
assertLess('settlementsEndMs', 'gatewayCloseTimeoutMs')
assertLess('dependencyConnectEveryMs', 'dependencyCheckEveryMs')
assertLess('accessListenRetryMs', 'accessCacheMs')
assertLess('prepareTimeoutMs', 'activationTimeoutMs')
assertLess('grpcReconnectFirstMs', 'grpcReconnectMaxMs')
assertLess('grpcKeepaliveTimeoutMs', 'grpcKeepaliveEveryMs')
assertLess('idempotencyKeyCharactersMin', 'idempotencyKeyCharactersMax')
assertLess('rowsScoredMinDefault', 'rowsScoredMinMax')
assertLess('extractCharactersMin', 'extractCharactersMax')
assertLess('comparedQuestionsMin', 'rerankedQuestionsMax')
assertLess('rerankedQuestionsMax', 'comparedQuestionsMax')
assertLess('warmUpQuestionsMax', 'timedQuestionsMax')
// A connected server falls silent; a server does not answer a connection that was begun.
assertSumLess(
  ['redisCheckEveryMs', 'redisCommandTimeoutMs', 'redisReconnectFirstMs', 'sentinelTimeoutMs'],
  'redisFailoverMaxMs',
)
assertSumLess(['redisCommandTimeoutMs', 'redisReconnectMaxMs', 'sentinelTimeoutMs'], 'redisFailoverMaxMs')
assertLess('succeededJobsKeptSeconds', 'failedJobsKeptSeconds')
assertLess('buildHeartbeatEveryMs', 'buildLostAfterMs')
assertLess('buildRetryFirstMs', 'buildRetryMaxMs')
assertLess('buildOutOfMemoryRunsMax', 'buildFailedRunsMax')
assertLess('buildLostRunsMax', 'buildFailedRunsMax')
assertLess('buildHeapMbMin', 'buildHeapDefaultMbMin')
assertLess('failedBuildRetryableMs', 'garbageFailedBuildsOlderThanMs')
