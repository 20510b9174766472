import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'
import { createBoundOrder } from '#core/platform/bound-order.ts'

export const QUEUE_BOUNDS = {
  // Ledger.
  ledgerBatchMax: 200,
  /** Time for which a gateway collects ids for one job. A job costs all processes together 2 ms of CPU. */
  ledgerCollectMs: 250,
  ledgerWaitingMax: 10_000,
  /** Jobs of several entries that one worker appends at once. */
  ledgerConcurrency: 4,
  /** Age at which a finished reservation without an entry has lost its job. Until then it may still be refunded. */
  ledgerJobLostAfterMs: 30_000,
  failedLedgerJobsMax: 1_000,

  // Every job.
  jobAttemptsMax: 5,
  /** The wait before the second attempt of a job; each further wait is twice as long. */
  jobRetryFirstMs: 500,
} as const

const { assertLess } = createBoundOrder({ ...PLATFORM_BOUNDS, ...QUEUE_BOUNDS })

assertLess('hardDeadlineMs', 'ledgerJobLostAfterMs')
