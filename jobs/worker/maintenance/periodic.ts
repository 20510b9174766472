import { setTimeout as wait } from 'node:timers/promises'
import { tryLockTask } from '#core/db/lock-timeout.ts'
import { inTransaction, type Database } from '#core/db/pool.ts'
import type { Log } from '#core/platform/log.ts'
import { JOB_BOUNDS } from '#jobs/platform/bounds.ts'

export interface PeriodicTask {
  readonly name: string
  readonly everyMs: number
  /** Workers take turns, by a lock in Postgres. A task without it may run in several workers at once. */
  readonly locked: boolean
  /** @returns false where the run did not reach its aim; what failed is logged by the task. */
  run(signal: AbortSignal): Promise<unknown>
  /** Ends the repetition, and what is known of it. */
  isOver?(): boolean
}

interface PeriodicDeps {
  readonly database: Database
  /** No run begins while it returns a reason. */
  readonly held: () => string | undefined
  readonly onSuccess: (task: string) => void
  readonly log: Log
}

/**
 * Runs each task again and again on the monotonic clock of this process, so that a wrong clock, a lost Redis or another
 * worker cannot put it off. A task that failed waits longer each time.
 */
export function startPeriodic(deps: PeriodicDeps, tasks: readonly PeriodicTask[]) {
  const stopping = new AbortController()
  const { signal } = stopping
  const succeededMs = new Map<string, number>()
  const running = new Set<Promise<void>>()

  async function repeat(task: PeriodicTask): Promise<void> {
    for (let failures = 0; !signal.aborted && task.isOver?.() !== true;) {
      try {
        if (deps.held() === undefined && (await runOnce(deps.database, task, signal))) {
          succeededMs.set(task.name, performance.now())
          deps.onSuccess(task.name)
        }
        failures = 0
      } catch (error) {
        if (!signal.aborted) deps.log.warn('maintenance failed', { task: task.name }, error)
        failures++
      }
      await wait(pauseMs(task.everyMs, failures), undefined, { signal }).catch(() => undefined)
    }
    succeededMs.delete(task.name)
  }
  function add(task: PeriodicTask): void {
    succeededMs.set(task.name, performance.now())
    const repeated = repeat(task).finally(() => running.delete(repeated))
    running.add(repeated)
  }

  for (const task of tasks) add(task)
  return {
    /** Begins another one. */
    add,
    /** Time since the last success of each task, or since the start. */
    agesMs: () => Object.fromEntries([...succeededMs].map(([name, atMs]) => [name, performance.now() - atMs])),
    /** Waits for the runs under way. */
    stop: async () => {
      stopping.abort()
      await Promise.all(running)
    },
  }
}

/** @returns whether the run reached its aim; false while another worker has the lock. */
async function runOnce(database: Database, task: PeriodicTask, signal: AbortSignal): Promise<boolean> {
  if (!task.locked) return (await task.run(signal)) !== false
  return inTransaction(database, async (client) => {
    return (await tryLockTask(client, task.name, task.everyMs)) && (await task.run(signal)) !== false
  })
}

/** Doubles with each failure up to a bound, and is never shorter than the period. */
function pauseMs(everyMs: number, failures: number): number {
  return Math.max(everyMs, Math.min(everyMs * 2 ** failures, JOB_BOUNDS.maintenancePauseMaxMs))
}
