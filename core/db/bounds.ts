import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'
import { createBoundOrder } from '#core/platform/bound-order.ts'

/** Bounds of Postgres, and of the SQLite files that SQL of `core/db` works on. */
export const DATABASE_BOUNDS = {
  // Statements.
  databaseStatementTimeoutMs: 2_000,
  databaseQueryTimeoutMs: 2_500,
  /** Idle time after which Postgres ends a transaction and releases its locks. */
  transactionIdleMs: 20_000,
  activationTimeoutMs: 180_000,

  // Connections.
  gatewayDatabaseConnectionsMax: 24,
  jobsDatabaseConnectionsMax: 8,
  buildDatabaseConnectionsMax: 2,
  databaseConnectionIdleMs: 30_000,
  databaseProbeTimeoutMs: 2_000,
  /** Pause of a process that starts while Postgres is away; it doubles with each further failure, up to the second. */
  awaitedPauseFirstMs: 100,
  awaitedPauseMaxMs: 1_000,
  /** Connection of the role that creates databases and logins. */
  provisionConnectTimeoutMs: 10_000,

  // Migrations.
  /** Wait of `operator migrate` for another process that migrates the same database. */
  migrationProcessLockTimeoutMs: 60_000,
  /** Statements of the services queue behind a migration that waits for a table, so it waits less than they may. */
  migrationTableLockTimeoutMs: 1_500,

  // Rows.
  insertRowsMax: 1_000,
  /** Characters of an error that the row of a build or activation keeps. */
  failureMessageCharactersMax: 2_000,
  /** Rejected versions in a row that a rollback passes over. */
  rollbackStepsMax: 1_000,
  /** Entries of the audit trail that `operator audit verify` reads at once. */
  auditBatchMax: 1_000,
  /** Entries of a version chain that are read at once. */
  chainBatchMax: 500,
  /** Reviews of a version whose signatures are verified at once. */
  reviewBatchMax: 1_000,

  // Group commits of reservations and outcomes.
  /** Reservations or outcomes of one group commit, and concurrent group commits of one gateway. */
  reservationBatchMax: 64,
  reservationBatchesAtOnce: 2,
  /** A group commit waits for so many calls of each request that the gateway works on, and for at most so long. */
  reservationBatchShare: 1 / 6,
  reservationCollectMs: 10,

  // Counts of an organization for a rebuild of its counters.
  rebuildBatchPassages: 200,
  /** Of each sort and hash table in Postgres; two rebuilds of a gateway have several each. */
  rebuildSortKilobytes: 65_536,

  // Comparison of two versions.
  /** Page cache of the file in which both versions are sorted. */
  comparisonCacheKb: 65_536,
  /** Revisions that the entry of a changed document names. */
  changedRevisionsNamedMax: 20,

  // Cache of vectors that a provider sent.
  vectorCacheBytesMax: 4 * 1024 ** 3,
  /** Page cache of one process. */
  vectorCachePagesKib: 16 * 1024,
  /** Wait for another process that writes to the file. */
  vectorCacheBusyTimeoutMs: 5_000,
  /** The same in the job worker, whose event loop stands still meanwhile. */
  vectorCacheShrinkTimeoutMs: 100,
  /** Faults of the file after which a build goes on without it. */
  vectorCacheFaultsMax: 5,
  /** Age of the time of the last use below which another use does not write it again. */
  vectorCacheUseSeconds: 3_600,
  /** Vectors removed in one transaction; more than a build adds in one. */
  vectorCacheEvictRows: 4_096,
  /** Pages returned to the file system in one transaction. */
  vectorCacheVacuumPages: 1_024,
  /** Difference of the squared length from 1 that float32 explains. */
  unitLengthTolerance: 1e-3,
} as const

const { assertLess, assertSumLess } = createBoundOrder({ ...PLATFORM_BOUNDS, ...DATABASE_BOUNDS })

assertLess('databaseStatementTimeoutMs', 'databaseQueryTimeoutMs', 'requestDeadlineMs')
assertLess('awaitedPauseFirstMs', 'awaitedPauseMaxMs')
assertLess('migrationTableLockTimeoutMs', 'databaseStatementTimeoutMs')
assertSumLess(['databaseQueryTimeoutMs', 'searchTimeoutMs'], 'requestDeadlineMs')
