import { QUEUE_BOUNDS } from '#core/queues/bounds.ts'
import { Queue } from 'bullmq'
import { REDIS_BOUNDS } from '#core/redis/bounds.ts'
import { activeSpan, traced, type SpanStart, type Traced } from '#core/platform/tracing.ts'
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

/** One side of a job, whose option of telemetry continues the trace. BullMQ's own spans would tell what jobs return. */
export function jobSpan<T>(side: 'send' | 'process', queue: string, start: SpanStart, work: Traced<T>): Promise<T> {
  const attributes = {
    'messaging.system.name': 'bullmq',
    'messaging.destination.name': queue,
    'messaging.operation.name': side,
    'messaging.operation.type': side,
  }
  return traced(`${side} ${queue}`, { kind: side === 'send' ? 'PRODUCER' : 'CONSUMER', ...start, attributes }, work)
}

/** Notifies the ledger's job of finished reservations. */
export type LedgerQueue = Omit<ReturnType<typeof openLedgerQueue>, 'redis'>

/**
 * Collects ids briefly and adds them as one job. While Redis is unavailable, or hangs for a second, they are dropped
 * with one warning per batch. That only delays entries by a few seconds, because the sweeper appends what is missing.
 */
export function openLedgerQueue(redisUrl: string, log: Log) {
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
  let waiting: { readonly id: string; readonly traceparent: string | undefined }[] = []
  let timer: NodeJS.Timeout | undefined
  let sending: Promise<void> | undefined
  let dropped = 0

  /** The job of several requests is in the trace of the first, and linked to the others. */
  async function add(batch: typeof waiting): Promise<void> {
    if (primary.runId() === undefined) throw new Error(primary.fault())
    const [parent, ...links] = batch.flatMap(({ traceparent }) => traceparent ?? [])
    const ids = batch.map(({ id }) => id)
    const append: Traced<unknown> = (span) =>
      queue.add('append', { ids }, span && { telemetry: { metadata: span.traceparent } })
    const added = jobSpan('send', LEDGER_QUEUE, { parent, links }, append)
    await withTimeout(REDIS_BOUNDS.redisCommandTimeoutMs, 'Redis took too long', added)
  }

  async function drain(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, QUEUE_BOUNDS.ledgerBatchMax)
      waiting = waiting.slice(QUEUE_BOUNDS.ledgerBatchMax)
      await add(batch).catch((error: unknown) => {
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
    redis: primary.redis,
    /** Returns at once and never throws. */
    settled(requestId: string) {
      if (waiting.length >= QUEUE_BOUNDS.ledgerWaitingMax) {
        dropped++
        return
      }
      waiting.push({ id: requestId, traceparent: activeSpan.getStore()?.traceparent })
      if (waiting.length >= QUEUE_BOUNDS.ledgerBatchMax) send()
      else timer ??= setTimeout(send, QUEUE_BOUNDS.ledgerCollectMs)
    },
    /** Sends what is collected, then closes the connection. */
    async close() {
      send()
      await sending
      await queue.close().catch(away)
      primary.close()
    },
  }
}
