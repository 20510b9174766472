import { DATABASE_BOUNDS } from '#core/db/bounds.ts'
import { RPC_BOUNDS } from '#core/rpc/bounds.ts'
import { createBoundOrder } from '#core/platform/bound-order.ts'

/** Bounds of the job worker: its queues, its maintenance, and its calls of the search nodes. */
export const JOB_BOUNDS = {
  // Jobs.
  jobLockMs: 15_000,
  jobStalledEveryMs: 5_000,
  jobStallsMax: 10,
  jobsStopTimeoutMs: 30_000,
  /** Finished builds and activations that their queue keeps: their number, and for how long. */
  finishedJobsMax: 200,
  succeededJobsKeptSeconds: 86_400,
  failedJobsKeptSeconds: 7 * 86_400,
  /** Pause of a loop after a failure; it doubles with each further failure, up to the second. */
  failurePauseFirstMs: 100,
  failurePauseMaxMs: 5_000,
  queueEventsMax: 1_000,

  // Builds of one worker.
  buildConcurrencyMax: 16,
  buildHeapMbMin: 128,
  buildHeapMbMax: 1_048_576,

  // Maintenance.
  requeueMax: 100,
  sweepBatchMax: 500,
  auditCopyEveryMs: 1_000,
  sweepEveryMs: 5_000,
  reconcileEveryMs: 2_000,
  garbageCollectionEveryMs: 300_000,
  canariesEveryMs: 86_400_000,
  /** Of one knowledge base. */
  canariesTimeoutMs: 60_000,
  /** Longest pause of a maintenance task that fails again and again, unless its period is longer. */
  maintenancePauseMaxMs: 60_000,
  /** Time since the last sweep after which a worker is not well. */
  sweepAgeMaxMs: 30_000,
  /** Time for which the files of a finished build stay. A run that was overtaken has stopped by then. */
  garbageBuildsOlderThanMs: 60_000,
  garbageFailedBuildsOlderThanMs: 90_000_000,
  /** Time since the last write after which a temporary file counts as abandoned. */
  garbageFilesOlderThanMs: 86_400_000,
  garbageNamesMax: 1_000,
  /** Days for which an Idempotency-Key is held; the guard of the table has the same. */
  idempotencyKeptDays: 30,
  /** Days for which it is known why a request abstained. */
  groundsKeptDays: 30,
  /** Days for which a capture that found nothing new is known. */
  capturesKeptDays: 30,
  forgottenBatchMax: 1_000,
  /** Versions, and captured files, that one run of the retention lets go. */
  retentionItemsMax: 10_000,

  // Withdrawn law under another id.
  /** What more other documents bear identifies no law, such as a clause on entry into force. */
  lawOtherDocumentsMax: 5,
  lawFoundMax: 20,

  // Search nodes.
  versionIdleBeforeReleaseMs: 60_000,
  prepareAttemptsMax: 3,
  statusTimeoutMs: 2_000,
  /** Characters of a node's refusal that are reported. */
  nodeFaultCharactersMax: 300,
} as const

const { assertLess } = createBoundOrder({ ...DATABASE_BOUNDS, ...RPC_BOUNDS, ...JOB_BOUNDS })

assertLess('succeededJobsKeptSeconds', 'failedJobsKeptSeconds')
assertLess('prepareTimeoutMs', 'activationTimeoutMs')
assertLess('sweepEveryMs', 'sweepAgeMaxMs')
assertLess('failurePauseFirstMs', 'failurePauseMaxMs')
