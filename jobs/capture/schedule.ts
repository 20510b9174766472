import { setTimeout } from 'node:timers/promises'
import { readBuildStarter } from '#core/db/builds.ts'
import { insertCapture, listSources } from '#core/db/sources.ts'
import type { SourceRow } from '#core/db/sources.ts'
import type { Database } from '#core/db/pool.ts'
import type { Log } from '#core/platform/log.ts'
import { versionIdOf } from '#jobs/version-build/ids.ts'
import type { Unended } from '#jobs/version-build/run-program.ts'
import { enqueueBuild } from '#jobs/platform/queues.ts'
import type { JobQueue } from '#jobs/platform/queues.ts'
import { CAPTURE_BOUNDS } from './bounds.ts'
import { notify } from './notify.ts'
import type { Notified } from './notify.ts'
import type { Captured } from './pipeline.ts'
import { runCaptureChild, SCHEDULED } from './run-child.ts'
import type { CaptureRun } from './run-child.ts'

export interface ScheduledCaptureDeps {
  readonly database: Database
  readonly buildQueue: JobQueue
  /** Heap limit of a capture's process. */
  readonly buildHeapMb: number
  readonly environment?: NodeJS.ProcessEnv
  readonly notified: Notified
  readonly log: Log
}

const MS_PER_MINUTE = 60_000

/** Makes the schedules of the queue those of the sources. Redis holds them, so they are lost with it. */
export async function keepCaptureSchedules(queue: JobQueue, database: Database): Promise<void> {
  const sources = await listSources(database, null, CAPTURE_BOUNDS.sourcesMax)
  const wanted = new Map(
    sources.flatMap(({ id, every_minutes: every }) => (every === null ? [] : [[id, every] as const])),
  )
  const held = await queue.getJobSchedulers(0, -1)
  for (const { key } of held) if (!wanted.has(key)) await queue.removeJobScheduler(key)
  const known = new Map(held.map(({ key, every }) => [key, Number(every)] as const))
  for (const [id, minutes] of wanted) {
    const every = minutes * MS_PER_MINUTE
    if (known.get(id) !== every) await queue.upsertJobScheduler(id, { every }, { name: 'capture', data: { id } })
  }
}

/**
 * Captures a source again in a process of its own, and says what changed or failed. A source that was removed is passed
 * over.
 * @returns the outcome; `stopped` where the signal ended it.
 */
export async function captureScheduled(
  { database, buildQueue, notified, log, buildHeapMb: heapMb, environment }: ScheduledCaptureDeps,
  sourceId: string,
  signal: AbortSignal,
): Promise<string> {
  const sources = await listSources(database, null, CAPTURE_BOUNDS.sourcesMax)
  const source = sources.find(({ id }) => id === sourceId)
  if (source === undefined) return 'removed'
  await pauseBetweenProcesses()
  const run = await runCaptureChild(sourceId, { signal, heapMb, ...(environment === undefined ? {} : { environment }) })
  lastEndedMs = performance.now()
  if (run.outcome === 'removed' || run.outcome === 'stopped') return run.outcome
  const captured = run.outcome === 'ended' ? run.captured : await recordFailed(database, source, reasonOf(run))
  // A worker finds a build whose job is missing.
  if (captured.build_id !== null) await enqueueBuild(buildQueue, captured.build_id).catch(() => undefined)
  const isQuiet = captured.outcome === 'unchanged' && captured.message === null && captured.import_id === null
  log[captured.outcome === 'failed' ? 'warn' : 'info']('capture', { ...captured })
  if (!isQuiet) await notify(notified, { event: 'capture', ...captured }, log)
  return captured.outcome
}

let lastEndedMs = Number.NEGATIVE_INFINITY

/** A process knows nothing of the requests of the one before, whose host may be the same. */
async function pauseBetweenProcesses(): Promise<void> {
  await setTimeout(Math.max(0, lastEndedMs + CAPTURE_BOUNDS.hostPauseMs - performance.now()))
}

function reasonOf(run: Extract<CaptureRun | Unended, { readonly reason: string }>): string {
  if (run.outcome === 'failed' || !run.outOfMemory) return run.reason
  return `${run.reason}: give the job worker more memory and a larger BUILD_HEAP_MB, or split the file`
}

/** Records why the process of a capture ended without an outcome: its memory, a full disk, a fault of the service. */
async function recordFailed(
  database: Database,
  { id, name, knowledge_base }: SourceRow,
  reason: string,
): Promise<Captured> {
  const message = `the capture was not completed, because ${reason}`.slice(0, CAPTURE_BOUNDS.messageCharactersMax)
  await insertCapture(database, { source_id: id, outcome: 'failed', message, files: null })
  return { source: name, knowledge_base, outcome: 'failed', message, files: 0, import_id: null, build_id: null }
}

/** Says that a build which a schedule asked for has made its candidate, or failed. */
export async function tellOfBuild(
  { database, notified, log }: Pick<ScheduledCaptureDeps, 'database' | 'notified' | 'log'>,
  buildId: string,
): Promise<void> {
  const build = await readBuildStarter(database, buildId)
  if (build?.started_by !== SCHEDULED) return
  const { knowledge_base, state, error } = build
  const ended = { knowledge_base, build_id: buildId }
  if (state === 'failed') {
    log.warn('build of a capture failed', { ...ended, message: error })
    await notify(notified, { event: 'build failed', ...ended, message: error }, log)
  }
  if (state !== 'succeeded') return
  const candidate = { ...ended, version_id: versionIdOf(buildId) }
  log.info('candidate of a capture', candidate)
  await notify(notified, { event: 'candidate', ...candidate }, log)
}
