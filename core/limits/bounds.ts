import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'
import { DATABASE_BOUNDS } from '#core/db/bounds.ts'
import { createBoundOrder } from '#core/platform/bound-order.ts'

export const LIMIT_BOUNDS = {
  // Admission of a request.
  admissionAttemptsMax: 4,
  /** Pause after the first attempt; the pause after the nth is n times as long. */
  admissionPauseMs: 25,
  /**
   * Time for which a request that is being admitted holds its Idempotency-Key in Redis. Afterwards only Postgres
   * decides whether the key is used; a request whose gateway ended holds it no longer.
   */
  idempotencyHoldMs: 4_000,
  /** Time for which a request waits for its key: for a holder that ended, and for the next one to be reserved. */
  idempotencyWaitMs: 7_000,
  /**
   * Looks of refused requests for their Idempotency-Key in a minute, for each request that the plan allows in it: a
   * repetition gets its 409 before any 429, and each look is one read of an index.
   */
  idempotencyLooksPerRequest: 10,
  /** Longest pause between two looks at a held Idempotency-Key. */
  idempotencyPauseMaxMs: 100,
  /** Organizations whose epoch a gateway caches, and for how long. */
  epochsRememberedMax: 10_000,
  limitEpochCacheMs: 4_000,

  // Rebuild of an organization's counters.
  rebuildsAtOnce: 2,
  rebuildDatabaseConnectionsMax: 4,
  rebuildStatementTimeoutMs: 60_000,
  rebuildTimeoutMs: 120_000,
  /** Time that a request waits for a rebuild. */
  rebuildWaitMs: 3_000,
  /** Pause between two looks at the rebuild of another gateway. */
  rebuildPollMs: 50,
  rebuildBatchCommands: 1_000,
  /** Documents whose exposure is freed at once after a rebuild. */
  discardDocuments: 500,
  /** Overdue reservations that one rebuild settles; the sweeper settles the others. */
  rebuildOverdueMax: 1_000,

  /** Audit entries that Redis keeps, so that a restore can say what it lost. */
  auditCopiedMax: 1_000,

  // Settlement of an admitted request.
  /** Time for recording an outcome, including the attempts to learn what became of it. */
  recordTimeoutMs: 7_500,
  /** Refunds of one process in Postgres at once; the others wait in order. */
  refundsAtOnce: 4,
  settlementRetryMs: 250,
  settlementsRepeatedMax: 10_000,
  /** Time for repeated settlements to end before a stop. */
  settlementsEndMs: 2_000,
  /** Time for which a refund is tried after an outcome of which Postgres told nothing. */
  uncertainRefundMs: 600_000,
  /** Passages that are kept of an abstention, best first. */
  groundsPassagesMax: 5,

  // Counters. Those of one request outlive its window or deadline a little; `admit.lua` has the same times.
  /** Longer than any month, so that no count of the current month expires. */
  countsKeptDays: 40,
  minuteWindowKeptMs: 61_000,
} as const

const { assertLess } = createBoundOrder({ ...PLATFORM_BOUNDS, ...DATABASE_BOUNDS, ...LIMIT_BOUNDS })

assertLess('databaseQueryTimeoutMs', 'idempotencyHoldMs', 'idempotencyWaitMs', 'requestDeadlineMs')
assertLess('rebuildWaitMs', 'requestDeadlineMs')
assertLess('rebuildStatementTimeoutMs', 'rebuildTimeoutMs')
assertLess('databaseQueryTimeoutMs', 'recordTimeoutMs', 'requestDeadlineMs')
assertLess('admissionPauseMs', 'requestDeadlineMs')
