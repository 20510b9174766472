import { setTimeout } from 'node:timers/promises'
import { readBuildStarter } from '#core/db/builds.ts'
import { insertCapture, listSources, type SourceRow } from '#core/db/sources.ts'
import type { Database } from '#core/db/pool.ts'
import type { Log } from '#core/platform/log.ts'
import { versionIdOf } from '#jobs/version-build/ids.ts'
import type { Unended } from '#jobs/version-build/run-program.ts'
import { enqueueBuild, type JobQueue } from '#jobs/platform/queues.ts'
import { CAPTURE_BOUNDS } from './bounds.ts'
import { runCaptureChild, SCHEDULED, type CaptureRun } from './run-child.ts'
import { spawn } from 'node:child_process'
import { Histogram, type Registry } from 'prom-client'
import { aboutMetric, type MetricName } from '#core/platform/metrics.ts'

function createCaptureCosts() {
  const histogram = (name: MetricName, buckets: number[]) =>
    new Histogram({ ...aboutMetric(name), buckets, registers: [] })
  const times = [1, 5, 15, 60, 300, 900, 1_800]
  const bytes = [128, 256, 512, 1_024, 2_048, 4_096].map((mb) => mb * 1_048_576)
  const seconds = histogram('evidence_capture_seconds', times)
  const cpu = histogram('evidence_capture_cpu_seconds', times)
  const memory = histogram('evidence_capture_memory_bytes', bytes)
  return {
    /** @param seconds from start to end. @param cost as the process told; undefined: it was killed. */
    add(took: number, cost: Extract<CaptureRun, { outcome: 'ended' }>['cost'] | undefined): void {
      seconds.observe(took)
      if (cost === undefined) return
      cpu.observe(cost.cpuSeconds)
      memory.observe(cost.peakBytes)
    },
    register(registry: Registry): void {
      for (const metric of [seconds, cpu, memory]) registry.registerMetric(metric)
    },
  }
}

export const captureCosts = createCaptureCosts()

export interface ScheduledCaptureDeps {
  readonly database: Database
  readonly buildQueue: JobQueue
  /** Heap limit of a capture's process. */
  readonly buildHeapMb: number
  /** Of the processes of captures and builds; the worker's own if absent. */
  readonly environment?: NodeJS.ProcessEnv
  readonly notified: Notified
  readonly log: Log
}

const MS_PER_MINUTE = 60_000

/**
 * Makes the schedules of the queue those of the sources. Redis holds them, so they are lost with it. One whose next run
 * lies further ahead than its period was made under a wrong clock, and begins anew.
 */
export async function keepCaptureSchedules(queue: JobQueue, database: Database): Promise<void> {
  const sources = await listSources(database, null, CAPTURE_BOUNDS.sourcesMax)
  const wanted = new Map(
    sources.flatMap(({ id, every_minutes: every }) => (every === null ? [] : [[id, every] as const])),
  )
  const held = await queue.getJobSchedulers(0, -1)
  const lost = held.filter(({ key, every, next = 0 }) => !wanted.has(key) || next > Date.now() + Number(every))
  for (const { key } of lost) await queue.removeJobScheduler(key)
  const known = new Map(
    held.filter((schedule) => !lost.includes(schedule)).map(({ key, every }) => [key, Number(every)] as const),
  )
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
  const beganMs = performance.now()
  const run = await runCaptureChild(sourceId, { signal, heapMb, ...(environment === undefined ? {} : { environment }) })
  lastEndedMs = performance.now()
  captureCosts.add((lastEndedMs - beganMs) / 1_000, run.outcome === 'ended' ? run.cost : undefined)
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
async function recordFailed(database: Database, { id, name, knowledge_base }: SourceRow, reason: string) {
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

/** Who is told of captures and candidates, beside the log. Undefined: nobody. */
export interface Notified {
  /** Address that takes a POST of JSON. */
  readonly webhook?: string | undefined
  /** Absolute path of a program and its arguments. It reads JSON from standard input. */
  readonly command?: readonly string[] | undefined
  /** For each of them; default: the bound of captures. */
  readonly timeoutMs?: number
}

/** What a program needs to find others; it sees no variable of the worker, which has secrets. */
const COMMAND_ENVIRONMENT = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' }

/** Tells the webhook and the command. A failure goes to the log and stops nothing. */
export async function notify(
  { webhook, command, timeoutMs = CAPTURE_BOUNDS.notifyTimeoutMs }: Notified,
  what: object,
  log: Log,
): Promise<void> {
  const body = JSON.stringify(what)
  await Promise.all([
    webhook === undefined ? undefined : post(webhook, body, timeoutMs, log),
    command === undefined ? undefined : runCommand(command, body, timeoutMs, log),
  ])
}

async function post(webhook: string, body: string, timeoutMs: number, log: Log): Promise<void> {
  try {
    const answer = await fetch(webhook, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
    })
    await answer.body?.cancel()
    if (!answer.ok) log.warn('webhook refused', { status: answer.status })
  } catch (error) {
    log.warn('webhook', {}, error)
  }
}

/** Runs a program without a shell. It is killed at the end of its time, and its output is not read. */
async function runCommand([program = '', ...args]: readonly string[], body: string, timeoutMs: number, log: Log) {
  const { code, signal, error } = await new Promise<{
    readonly code?: number | null
    readonly signal?: string | null
    readonly error?: Error
  }>((resolve) => {
    const child = spawn(program, args, {
      stdio: ['pipe', 'ignore', 'ignore'],
      env: COMMAND_ENVIRONMENT,
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
    })
    child.once('error', (failure) => resolve({ error: failure }))
    child.once('exit', (ended, by) => resolve({ code: ended, signal: by }))
    // A program may end without reading.
    child.stdin.on('error', () => undefined)
    child.stdin.end(`${body}\n`)
  })
  if (error !== undefined) log.warn('capture command', {}, error)
  else if (code !== 0) log.warn('capture command failed', { code, signal })
}
