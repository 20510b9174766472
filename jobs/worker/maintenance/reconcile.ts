import { JOB_BOUNDS } from '#jobs/platform/bounds.ts'
import { tryLockReleases, finishActivation, queuedActivations } from '#core/db/activations.ts'
import { recentBuilds, unfinishedBuilds } from '#core/db/builds.ts'
import { inTransaction, type Database, type Queryable } from '#core/db/pool.ts'
import { versionsMaybePinned, versionsToServe } from '#core/db/versions.ts'
import { SEARCH_BOUNDS } from '#core/domain/bounds.ts'
import type { ServingList } from '#core/domain/version-chain.ts'
import type { ArtifactStore } from '#core/index/format/store.ts'
import type { Log } from '#core/platform/log.ts'
import type { SearchNodeClient } from '#core/rpc/search-client.ts'
import { versionIdOf } from '#jobs/version-build/ids.ts'
import type { VersionRef } from '#core/domain/search.ts'
import { prepareOn, reasonOf, statusOf } from '#jobs/platform/search-nodes.ts'
import { listTraced, newestLinks } from '#core/db/version-chain.ts'
import { enqueueActivation, enqueueBuild, enqueueTrace, type JobQueue } from '#jobs/platform/queues.ts'
import { TRACE_BOUNDS } from '#jobs/trace/bounds.ts'
import { publishedHead } from '#jobs/platform/published-head.ts'

interface ReconcileDeps {
  readonly database: Database
  readonly node: SearchNodeClient
  readonly log: Log
}

/**
 * Loads and releases versions so that a search node holds what Postgres says. Each node has runs of its own, so one that
 * hangs keeps no other waiting. @returns whether it holds all; false where it does not answer.
 */
export async function reconcile(deps: ReconcileDeps, signal?: AbortSignal): Promise<boolean> {
  const wanted = await versionsToServe(deps.database)
  const held = await heldBy(deps.node)
  if (held === undefined) return false
  await releaseUnwanted(deps, held)
  return loadMissing(
    deps,
    wanted.filter(({ versionId }) => !held.has(versionId)),
    signal,
  )
}

async function heldBy(node: SearchNodeClient): Promise<ReadonlySet<string> | undefined> {
  const status = await statusOf(node)
  return (
    status &&
    new Set(status.loaded.filter((version) => version.state !== 'releasing').map((version) => version.versionId))
  )
}

async function loadMissing({ node, log }: ReconcileDeps, missing: readonly VersionRef[], signal?: AbortSignal) {
  let loadedAll = true
  for (const version of missing) {
    const about = { node: node.address, version_id: version.versionId }
    try {
      await prepareOn(node, version, signal)
      log.info('version loaded', about)
    } catch (error) {
      loadedAll = false
      if (signal?.aborted === true) break
      log.warn('version could not be loaded', { ...about, reason: reasonOf(error) })
    }
  }
  return loadedAll
}

/**
 * Reads and releases unwanted versions while no activation is in progress. A version that is about to become active
 * is therefore never released.
 */
async function releaseUnwanted({ database, node, log }: ReconcileDeps, held: ReadonlySet<string>): Promise<void> {
  await inTransaction(database, async (client) => {
    if (!(await tryLockReleases(client))) return
    const kept = await keptVersions(client)
    await Promise.all([...held].filter((id) => !kept.has(id)).map((id) => release(node, id, log)))
  })
}

/**
 * Returns versions that are wanted now, or were wanted so recently that a request may still be pinned to them. The
 * result depends on database rows alone, so any worker may run this.
 */
async function keptVersions(client: Queryable): Promise<ReadonlySet<string>> {
  const wanted = await versionsToServe(client)
  const lingering = await versionsMaybePinned(client, JOB_BOUNDS.versionIdleBeforeReleaseMs)
  const building = await recentBuilds(client, JOB_BOUNDS.versionIdleBeforeReleaseMs)
  return new Set([...wanted.map((version) => version.versionId), ...lingering, ...building.map(versionIdOf)])
}

async function release(node: SearchNodeClient, versionId: string, log: Log): Promise<void> {
  await node.releaseVersion(versionId, JOB_BOUNDS.statusTimeoutMs).then(
    () => log.info('version released', { node: node.address, version_id: versionId }),
    (error: unknown) =>
      log.warn('version could not be released', { node: node.address, version_id: versionId, reason: reasonOf(error) }),
  )
}

/** Writes beside the artifacts what search nodes are to hold, so that a node which starts loads it by itself. */
export async function keepServingList({
  database,
  store,
}: {
  readonly database: Database
  readonly store: ArtifactStore
}): Promise<void> {
  const wanted = (await versionsToServe(database)).map(({ versionId }) => versionId)
  const links = await newestLinks(database, wanted.slice(0, SEARCH_BOUNDS.versionsPerNodeMax))
  const list: ServingList = links.map(({ entry, signature }) => ({ entry, signature: signature.toString('base64') }))
  await store.replaceText(store.servingFile, `${JSON.stringify(list)}\n`)
}

interface RequeueDeps {
  readonly database: Database
  readonly queues: Readonly<Record<'build' | 'activate' | 'trace', JobQueue>>
  readonly traceDir: string
  readonly log: Log
}

/**
 * Restores the queue from Postgres, which is the source of truth. An unfinished row whose job was lost with Redis gets
 * a new job, and so does a build whose job ended. An activation whose job failed permanently is refused. An existing
 * job keeps its place, since it has the id of its row.
 */
export async function requeue(deps: RequeueDeps): Promise<void> {
  const { database, queues } = deps
  for (const id of await unfinishedBuilds(database, JOB_BOUNDS.requeueMax)) await enqueueBuild(queues.build, id)
  for (const id of await queuedActivations(database, JOB_BOUNDS.requeueMax)) {
    const failure = await failureOf(queues.activate, id)
    if (failure === undefined) await enqueueActivation(queues.activate, id)
    else
      await finishActivation(
        database,
        id,
        'refused',
        `The activation's job failed (${failure}). Read the log of the job worker, remove the ` +
          'cause, then activate again.',
      )
  }
  await requeueTraces(deps)
}

/** Enqueues the trace of every knowledge base whose version chain is longer than what is written of it. */
export async function requeueTraces(
  deps: Pick<RequeueDeps, 'database' | 'traceDir'> & { readonly queues: Pick<RequeueDeps['queues'], 'trace'> },
): Promise<void> {
  for (const { id, slug, sequence } of await listTraced(deps.database, TRACE_BOUNDS.tracedBasesMax))
    if (((await publishedHead(deps.traceDir, slug))?.sequence ?? 0) < sequence)
      await enqueueTrace(deps.queues.trace, id, sequence)
}

/**
 * Returns why the row's job failed permanently; undefined where it is waiting, running or missing. A job that completed
 * without ending its row is removed to make room for another.
 */
async function failureOf(queue: JobQueue, id: string): Promise<string | undefined> {
  const job = await queue.getJob(id)
  const state = await job?.getState()
  if (state === 'completed') await job?.remove()
  return state === 'failed' ? (job?.failedReason ?? 'unknown reason') : undefined
}
