import { QUEUE_BOUNDS } from '#core/queues/bounds.ts'
import { Queue } from 'bullmq'
import type { Redis } from 'ioredis'
import { REDIS_BOUNDS } from '#core/redis/bounds.ts'
import { withTimeout } from '#core/platform/with-timeout.ts'
import type { Log } from '#core/platform/log.ts'
import { openPrimary } from '#core/redis/primary.ts'

/** All keys of the queues begin with it. */
export const QUEUE_PREFIX = '{jobs}'
export const LEDGER_QUEUE = 'ledger'
/** The only content of a job: the id of a row in Postgres. */
export interface JobPayload {
  readonly id: string
}

/** The only content of a ledger job: ids of reservations. */
export interface LedgerJobPayload {
  readonly ids: readonly string[]
}

export const LEDGER_JOB_OPTIONS = {
  attempts: QUEUE_BOUNDS.jobAttemptsMax,
  backoff: { type: 'exponential', delay: QUEUE_BOUNDS.jobRetryFirstMs },
  removeOnComplete: true,
  removeOnFail: { count: QUEUE_BOUNDS.failedLedgerJobsMax },
  stackTraceLimit: 1,
  keepLogs: 0,
}

/**
 * Notifies the ledger's job of a finished reservation. A lost notification only delays the entry by a few seconds,
 * because the sweeper appends what is missing.
 */
export interface LedgerQueue {
  /** Returns at once and never throws. */
  settled(requestId: string): void
  /** Sends what is collected, then closes the connection. */
  close(): Promise<void>
}

/**
 * Collects ids briefly and adds them as one job. While Redis is unavailable, they are dropped with one warning
 * per batch.
 */
export function openLedgerQueue(redisUrl: string, log: Log): LedgerQueue & { readonly redis: Redis } {
  const link = openLink(redisUrl, log)
  let waiting: string[] = []
  let timer: NodeJS.Timeout | undefined
  let sending: Promise<void> | undefined
  let dropped = 0

  async function drain(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, QUEUE_BOUNDS.ledgerBatchMax)
      waiting = waiting.slice(QUEUE_BOUNDS.ledgerBatchMax)
      await link.add(batch).catch((error: unknown) => {
        log.warn('ledger job dropped; the sweeper will append the entries', { entries: batch.length + dropped }, error)
        dropped = 0
      })
    }
  }

  function send(): void {
    clearTimeout(timer)
    timer = undefined
    sending ??= drain().finally(() => (sending = undefined))
  }

  return {
    redis: link.redis,
    settled(requestId) {
      if (waiting.length >= QUEUE_BOUNDS.ledgerWaitingMax) {
        dropped++
        return
      }
      waiting.push(requestId)
      if (waiting.length >= QUEUE_BOUNDS.ledgerBatchMax) send()
      else timer ??= setTimeout(send, QUEUE_BOUNDS.ledgerCollectMs)
    },
    async close() {
      send()
      await sending
      await link.close()
    },
  }
}

/**
 * Opens the connection to the queue. It fails at once while Redis is unavailable, and after a second if Redis hangs.
 */
function openLink(
  redisUrl: string,
  log: Log,
): { readonly redis: Redis; add(ids: readonly string[]): Promise<void>; close(): Promise<void> } {
  const primary = openPrimary(redisUrl, { name: 'ledger queue', log, whileAway: 'fail' })
  const queue = new Queue<LedgerJobPayload>(LEDGER_QUEUE, {
    connection: primary.redis,
    prefix: QUEUE_PREFIX,
    skipVersionCheck: true,
    skipMetasUpdate: true,
    defaultJobOptions: LEDGER_JOB_OPTIONS,
  })
  const away = (error: Error): void => log.debug('ledger queue', { reason: error.message })
  queue.on('error', away)
  return {
    redis: primary.redis,
    async add(ids) {
      if (primary.runId() === undefined) throw new Error(primary.fault())
      await withTimeout(REDIS_BOUNDS.redisCommandTimeoutMs, 'Redis took too long', queue.add('append', { ids }))
    },
    async close() {
      await queue.close().catch(away)
      primary.close()
    },
  }
}
