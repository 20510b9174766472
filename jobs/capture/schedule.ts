import { readBuildStarter } from '#core/db/builds.ts'
import { listSources } from '#core/db/sources.ts'
import type { Database } from '#core/db/pool.ts'
import type { ArtifactStore } from '#core/index/format/store.ts'
import type { Log } from '#core/platform/log.ts'
import { versionIdOf } from '#jobs/build/ids.ts'
import { enqueueBuild } from '#jobs/queues.ts'
import type { JobQueue } from '#jobs/queues.ts'
import { CAPTURE_BOUNDS } from './bounds.ts'
import { notify } from './notify.ts'
import type { Notified } from './notify.ts'
import { captureSource } from './pipeline.ts'

export interface ScheduledCaptureDeps {
  readonly database: Database
  readonly store: ArtifactStore
  readonly buildQueue: JobQueue
  readonly notified: Notified
  readonly log: Log
}

/** Who captures and builds on a schedule, in the audit trail and on the builds. */
const SCHEDULED = 'scheduled capture'
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

/** Captures a source again, and says what changed or failed. A source that was removed is passed over. */
export async function captureScheduled(
  { database, store, buildQueue, notified, log }: ScheduledCaptureDeps,
  sourceId: string,
  signal: AbortSignal,
): Promise<string> {
  const sources = await listSources(database, null, CAPTURE_BOUNDS.sourcesMax)
  const source = sources.find(({ id }) => id === sourceId)
  if (source === undefined) return 'removed'
  const enqueue = (id: string): Promise<void> => enqueueBuild(buildQueue, id)
  const deps = { database, store, actor: SCHEDULED, enqueueBuild: enqueue, preparesBuilds: true, signal }
  const captured = await captureSource(deps, source)
  const isQuiet = captured.outcome === 'unchanged' && captured.message === null && captured.import_id === null
  log[captured.outcome === 'failed' ? 'warn' : 'info']('capture', { ...captured })
  if (!isQuiet) await notify(notified, { event: 'capture', ...captured }, log)
  return captured.outcome
}

/** Says that a build which a schedule asked for has made its candidate. */
export async function tellOfCandidate(
  { database, notified, log }: Pick<ScheduledCaptureDeps, 'database' | 'notified' | 'log'>,
  buildId: string,
): Promise<void> {
  const build = await readBuildStarter(database, buildId)
  if (build?.started_by !== SCHEDULED) return
  const candidate = { knowledge_base: build.knowledge_base, build_id: buildId, version_id: versionIdOf(buildId) }
  log.info('candidate of a capture', candidate)
  await notify(notified, { event: 'candidate', ...candidate }, log)
}
