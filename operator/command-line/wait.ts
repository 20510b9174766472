import { setTimeout as sleep } from 'node:timers/promises'
import { readActivation } from '#core/db/activations.ts'
import { embeddingInWords } from '#core/domain/embedding-counts.ts'
import { OPERATOR_BOUNDS } from '#operator/actions/operator.ts'
import type { BuildListRow } from '#core/db/corpus-lists.ts'
import type { Queryable } from '#core/db/pool.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { BUILD_BOUNDS } from '#jobs/version-build/bounds.ts'
import { buildNamed } from '../actions/names.ts'
import { cell } from './table.ts'
import type { Progress } from '#operator/command-line/progress.ts'

export const WAIT_SECONDS_DEFAULT = 3_600
export const WAIT_SECONDS_MAX = 86_400
const IDLE_HINT_MS = 15_000

/** Waits until the row shows the outcome. The job worker does the work, independent of who waits. */
async function until<T>(waitSeconds: number, see: string, look: (waitedMs: number) => Promise<T | undefined>) {
  const goesOn = `goes on without this command: see "operator ${see}".`
  const began = performance.now()
  return await interruptible(`It ${goesOn}`, async (signal) => {
    for (;;) {
      const waitedMs = performance.now() - began
      const found = await look(waitedMs)
      if (found !== undefined) return found
      if (waitedMs > waitSeconds * 1_000)
        throw new OperatorError(`It is not finished after ${waitSeconds} s and ${goesOn}`)
      await sleep(OPERATOR_BOUNDS.operatorPollMs, undefined, { signal })
    }
  })
}

type Shown = Pick<BuildListRow, 'state' | 'seconds_since_heartbeat' | 'updated_at' | 'next_attempt_at' | 'error'>

/** True where the run of a build is lost, because its worker and its process ended or cannot reach Postgres. */
function isStalled({ seconds_since_heartbeat: silent }: Pick<BuildListRow, 'seconds_since_heartbeat'>): boolean {
  return silent !== null && silent * 1_000 > BUILD_BOUNDS.buildLostAfterMs
}

/** Says in one line where a build stands, and what follows without anybody's help. */
export function buildStatus(row: Shown): string {
  switch (row.state) {
    case 'running':
      return isStalled(row)
        ? `no heartbeat since ${cell(row.updated_at)}; a job worker that runs takes the build over`
        : `running, last heartbeat ${row.seconds_since_heartbeat ?? 0} s ago`
    case 'retrying':
      return `attempt again at ${cell(row.next_attempt_at)}, because ${row.error ?? 'the last run ended'}`
    case 'queued':
      return 'waits for a job worker'
    case 'succeeded':
    case 'failed':
      return row.state
    default:
      return row.state satisfies never
  }
}

/** While a provider embeds. */
function embeddingOf({ stage, embedding }: BuildListRow): string {
  return stage !== 'embed' || embedding === null || embedding.tokens === 0 ? '' : embeddingInWords(embedding)
}

/** @throws OperatorError when the build failed, with its reason. */
export async function waitForBuild(database: Queryable, id: string, waitSeconds: number, progress: Progress) {
  return until(waitSeconds, `build show ${id}`, async (waitedMs) => {
    const build = await buildNamed(database, id)
    const { state, stage, done, total, error } = build
    if (state === 'succeeded') return build
    if (state === 'failed') throw new OperatorError(`The build failed: ${error ?? 'see the log of the job worker'}`)
    if (state === 'queued') progress.update(waitedMs > IDLE_HINT_MS ? 'still queued; is a job worker running?' : state)
    else if (state === 'retrying' || isStalled(build)) progress.update(buildStatus(build))
    else progress.update(stage ?? 'starting', done, total, embeddingOf(build))
    return undefined
  })
}

/** @throws OperatorError when the activation was refused, with what to do next. */
export async function waitForActivation(database: Queryable, id: string, waitSeconds: number, progress: Progress) {
  return until(waitSeconds, 'versions list', async (waitedMs) => {
    const activation = await readActivation(database, id)
    if (activation === undefined || activation.state === 'queued') {
      progress.update(
        waitedMs > IDLE_HINT_MS
          ? 'waiting for the search nodes; is a job worker running?'
          : 'waiting for the search nodes to load it',
      )
      return undefined
    }
    if (activation.state === 'refused')
      throw new OperatorError(`Refused: ${activation.message ?? 'see the log of the job worker'}`)
    return activation
  })
}

const INTERRUPTIONS = ['SIGINT', 'SIGTERM'] as const

/**
 * The first interruption ends the work in order, with a sentence; a second one ends the process.
 * @param sentence what was left undone, or goes on, and what to do.
 */
export async function interruptible<T>(sentence: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const interrupted = new AbortController()
  const interrupt = (): void => interrupted.abort(new OperatorError(sentence))
  for (const signal of INTERRUPTIONS) process.once(signal, interrupt)
  try {
    return await work(interrupted.signal)
  } catch (error) {
    // What is aborted may fail with an error of its own.
    interrupted.signal.throwIfAborted()
    throw error
  } finally {
    for (const signal of INTERRUPTIONS) process.off(signal, interrupt)
  }
}
