import { setTimeout as wait } from 'node:timers/promises'
import { UnrecoverableError, WaitingError, Worker, type Job, type Processor, type WorkerOptions } from 'bullmq'
import type { Redis } from 'ioredis'
import { QUEUE_BOUNDS } from '#core/queues/bounds.ts'
import type { Database, Queryable } from '#core/db/pool.ts'
import { QUEUE_PREFIX, jobSpan, type JobPayload, type LedgerJobPayload } from '#core/queues/ledger-queue.ts'
import { copyAudit } from '#core/limits/confirmed.ts'
import type { Log } from '#core/platform/log.ts'
import type { SearchNodeClient } from '#core/rpc/search-client.ts'
import { JOB_BOUNDS } from '../platform/bounds.ts'
import { activate, type ActivateDeps } from '../activate/pipeline.ts'
import { processBuild, removeFailed, endLostRuns } from '../version-build/process.ts'
import { captureScheduled, keepCaptureSchedules, tellOfBuild, type ScheduledCaptureDeps } from '../capture/schedule.ts'
import { keepServingList, reconcile, requeue, requeueTraces } from './maintenance/reconcile.ts'
import { startPeriodic, type PeriodicTask } from './maintenance/periodic.ts'
import { sweep, type SweepDeps } from './maintenance/sweep.ts'
import { measureDrift, type Drifts } from './maintenance/canaries.ts'
import type { RewriterSettings } from '#core/rewriting/rewriter.ts'
import { collectGarbage, type GarbageCollectionDeps } from './maintenance/collect-garbage.ts'
import { openQueue, type JobQueue, type QueueName } from '../platform/queues.ts'
import { writeTrace } from '../trace/pipeline.ts'
import { z } from 'zod'
import { appendLedgerEntries } from '#core/db/ledger.ts'
import { forgetCaptures } from '#core/db/sources.ts'
import { forgetGrounds, forgetIdempotencyKeys } from '#core/db/requests.ts'

export interface JobsDeps
  extends ActivateDeps, SweepDeps, GarbageCollectionDeps, Omit<ScheduledCaptureDeps, 'buildQueue'> {
  readonly redis: Redis
  readonly buildConcurrency: number
  /** The endpoint of rewriters, and what is known of their drift. */
  readonly rewriting: RewriterSettings
  readonly drifts: Drifts
  /** Nothing is begun while it returns a reason, such as a wrong clock. */
  readonly held: () => string | undefined
  readonly onTaskDone: (task: string) => void
}

export type Jobs = Awaited<ReturnType<typeof startJobs>>

/** Starts a worker for every queue, and the maintenance tasks. */
export async function startJobs(deps: JobsDeps) {
  const stopping = new AbortController()
  const open = (name: QueueName): JobQueue => openQueue(name, deps.redis, deps.log)
  const queues = { build: open('build'), activate: open('activate'), trace: open('trace'), capture: open('capture') }
  const capture: Processor<JobPayload, string> = async (job, token) => {
    const outcome = await captureScheduled({ ...deps, buildQueue: queues.build }, job.data.id, stopping.signal)
    if (outcome !== 'stopped') return outcome
    await job.moveToWait(token)
    throw new WaitingError()
  }
  const activateThenTrace: Processor<JobPayload, string> = async (job) => {
    const outcome = await activate(deps, job.data.id, stopping.signal)
    // Maintenance does what fails here.
    if (outcome === 'done')
      await Promise.all([keepServingList(deps), requeueTraces({ ...deps, queues })]).catch((error: unknown) =>
        deps.log.warn('after an activation', {}, error),
      )
    return outcome
  }
  const start = <P, R>(name: QueueName, processor: Processor<P, R>, options: Partial<WorkerOptions> = {}) =>
    startWorker(deps, stopping.signal, name, processor, options)
  const workers = [
    start('build', buildThenTell(deps, stopping.signal), { concurrency: deps.buildConcurrency }),
    start('activate', activateThenTrace, { concurrency: 4 }),
    start('trace', (job: Job<JobPayload>) => writeTrace(deps, job.data.id, stopping.signal)),
    start('capture', capture),
    start('ledger', (job: Job<LedgerJobPayload>) => processLedgerJob(deps.database, job.data), {
      concurrency: QUEUE_BOUNDS.ledgerConcurrency,
    }),
  ]
  const periodic = startPeriodic(
    { database: deps.database, held: deps.held, onSuccess: deps.onTaskDone, log: deps.log },
    maintenance(deps, queues),
  )
  periodic.add(reconciliations(deps, periodic.add))
  return {
    /** Time since the last success of each maintenance task, ms. */
    tasks: periodic.agesMs,
    /**
     * Kills running builds and captures, and aborts the loading of versions; all return to the queue. Finishes all other
     * jobs, then closes workers and queues.
     */
    async close() {
      stopping.abort()
      await periodic.stop()
      await Promise.all(workers.map((worker) => worker.close()))
      await Promise.all(Object.values(queues).map((queue) => queue.close()))
    },
  }
}

function buildThenTell(deps: JobsDeps, stopping: AbortSignal): Processor<JobPayload, string> {
  return async (job, token) => {
    try {
      const outcome = await processBuild({ ...deps, stopping }, job, token)
      if (outcome === 'succeeded') await tellOfEnd(deps, job.data.id)
      return outcome
    } catch (error) {
      if (error instanceof UnrecoverableError) await tellOfEnd(deps, job.data.id)
      throw error
    }
  }
}

async function tellOfEnd(deps: JobsDeps, buildId: string): Promise<void> {
  await tellOfBuild(deps, buildId).catch((error: unknown) => deps.log.warn('end of a build', {}, error))
}

function startWorker<P, R>(
  deps: JobsDeps,
  stopping: AbortSignal,
  name: QueueName,
  processor: Processor<P, R>,
  options: Partial<WorkerOptions>,
): Worker<P, R> {
  const inSpan: Processor<P, R> = (job, token) =>
    jobSpan('process', name, { root: true, parent: job.opts.telemetry?.metadata }, async () => processor(job, token))
  const worker = new PatientWorker<P, R>(name, inSpan, {
    connection: deps.redis,
    prefix: QUEUE_PREFIX,
    skipVersionCheck: true,
    lockDuration: JOB_BOUNDS.jobLockMs,
    stalledInterval: JOB_BOUNDS.jobStalledEveryMs,
    maxStalledCount: JOB_BOUNDS.jobStallsMax,
    drainDelay: 1,
    ...options,
  })
  worker.mayTake = () => deps.held() === undefined
  worker.stopping = stopping
  worker.on('error', (error) => deps.log.warn('worker', { queue: name }, error))
  worker.on('failed', (job: Job<P> | undefined, error) =>
    deps.log.warn('job failed', { queue: name, job_id: job?.id, attempts: job?.attemptsMade }, error),
  )
  return worker
}

/**
 * Takes no job while it may not, and waits longer after each failure: BullMQ asks again at once where Redis answers with
 * an error, as it does without memory or disk.
 */
class PatientWorker<P, R> extends Worker<P, R> {
  mayTake: () => boolean = () => true
  stopping: AbortSignal | undefined
  #failures = 0

  protected override async moveToActive(token: string, name?: string): Promise<Job<P, R>> {
    while (!this.mayTake() && this.stopping?.aborted !== true) await this.#pause(JOB_BOUNDS.failurePauseMaxMs)
    try {
      const job = await super.moveToActive(token, name)
      this.#failures = 0
      return job
    } catch (error) {
      await this.#pause(Math.min(JOB_BOUNDS.failurePauseMaxMs, JOB_BOUNDS.failurePauseFirstMs * 2 ** this.#failures++))
      throw error
    }
  }

  async #pause(ms: number): Promise<void> {
    await wait(ms, undefined, this.stopping === undefined ? {} : { signal: this.stopping }).catch(() => undefined)
  }
}

/** Begins a task for each node that appears. */
function reconciliations(deps: JobsDeps, add: (task: PeriodicTask) => void): PeriodicTask {
  const begun = new WeakSet<SearchNodeClient>()
  return {
    name: 'reconcile',
    everyMs: JOB_BOUNDS.reconcileEveryMs,
    locked: false,
    async run() {
      for (const node of deps.nodes.filter((one) => !begun.has(one))) {
        begun.add(node)
        add(reconciliation(deps, node))
      }
    },
  }
}

/** Loads on a node what it lacks, as a repair: it loads what was active last by itself. */
function reconciliation({ database, nodes, log }: JobsDeps, node: SearchNodeClient): PeriodicTask {
  return {
    name: `reconcile ${node.address}`,
    isOver: () => !nodes.includes(node),
    everyMs: JOB_BOUNDS.reconcileEveryMs,
    // Loads join each other, and releases have a lock of their own.
    locked: false,
    run: (signal) => reconcile({ database, node, log }, signal),
  }
}

/** What restores the state that Postgres says, whatever was lost. */
function maintenance(deps: JobsDeps, queues: Readonly<Record<'build' | 'activate' | 'trace' | 'capture', JobQueue>>) {
  return [
    {
      name: 'sweep',
      everyMs: JOB_BOUNDS.sweepEveryMs,
      locked: true,
      run: async () => {
        await sweep(deps)
        for (const { buildId } of await endLostRuns(deps.database)) {
          await removeFailed(deps, buildId)
          await tellOfEnd(deps, buildId)
        }
        await requeue({ ...deps, queues })
        await keepCaptureSchedules(queues.capture, deps.database)
      },
    },
    { name: 'serving list', everyMs: JOB_BOUNDS.sweepEveryMs, locked: true, run: () => keepServingList(deps) },
    {
      name: 'audit copy',
      everyMs: JOB_BOUNDS.auditCopyEveryMs,
      // A repetition copies the same.
      locked: false,
      run: () => copyAudit(deps.database, deps.redis),
    },
    {
      name: 'canaries',
      everyMs: JOB_BOUNDS.canariesEveryMs,
      // A model may take a minute, for which no transaction waits.
      locked: false,
      run: () => measureDrift(deps),
    },
    {
      name: 'tidy',
      everyMs: JOB_BOUNDS.garbageCollectionEveryMs,
      locked: true,
      run: () => Promise.all([collectGarbage(deps), forgetOld(deps)]),
    },
  ]
}

/** Nothing but ids; the rows are read from Postgres. */
const payloadSchema = z.strictObject({ ids: z.array(z.uuid()).max(QUEUE_BOUNDS.ledgerBatchMax) })

/** Appends the ledger entries of settled reservations. Entries that exist, and open reservations, are left alone. */
export async function processLedgerJob(database: Queryable, payload: unknown): Promise<void> {
  await appendLedgerEntries(database, payloadSchema.parse(payload).ids)
}

const FORGOTTEN = {
  idempotency_keys: [forgetIdempotencyKeys, JOB_BOUNDS.idempotencyKeptDays],
  grounds_of_abstentions: [forgetGrounds, JOB_BOUNDS.groundsKeptDays],
  // A short schedule makes many captures that find nothing new.
  captures: [forgetCaptures, JOB_BOUNDS.capturesKeptDays],
} as const

/**
 * Forgets what is past the days for which it is kept, in batches until nothing is due or the next run begins. Runs may
 * repeat or overlap. @returns how many of each were forgotten.
 */
export async function forgetOld({ database, log }: { readonly database: Database; readonly log: Log }) {
  const endsAtMs = performance.now() + JOB_BOUNDS.garbageCollectionEveryMs
  const forgotten: Record<string, number> = {}
  for (const [what, [forget, days]] of Object.entries(FORGOTTEN)) {
    let batch: number
    do {
      batch = await forget(database, days, JOB_BOUNDS.forgottenBatchMax)
      if (batch > 0) forgotten[what] = (forgotten[what] ?? 0) + batch
    } while (batch === JOB_BOUNDS.forgottenBatchMax && performance.now() < endsAtMs)
  }
  if (Object.keys(forgotten).length > 0) log.info('forgotten', forgotten)
  return forgotten
}
