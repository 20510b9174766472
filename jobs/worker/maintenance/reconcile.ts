import { JOB_BOUNDS } from '#jobs/platform/bounds.ts'
import { tryLockReleases } from '#core/db/activations.ts'
import { recentBuilds } from '#core/db/builds.ts'
import { inTransaction } from '#core/db/pool.ts'
import type { Database, Queryable } from '#core/db/pool.ts'
import { versionsMaybePinned, versionsToServe } from '#core/db/versions.ts'
import type { Log } from '#core/platform/log.ts'
import type { SearchNodeClient } from '#core/rpc/search-client.ts'
import { versionIdOf } from '#jobs/version-build/ids.ts'
import { prepareOn, reasonOf, statusOf } from '#jobs/platform/search-nodes.ts'
import type { PreparedVersion } from '#jobs/platform/search-nodes.ts'

export interface ReconcileDeps {
  readonly database: Database
  readonly nodes: readonly SearchNodeClient[]
  readonly log: Log
}

/**
 * Loads and releases versions so that every live search node holds what Postgres says. An unreachable node is tried
 * again at the next run.
 */
export async function reconcile(deps: ReconcileDeps): Promise<void> {
  const wanted = await versionsToServe(deps.database)
  const held = await Promise.all(deps.nodes.map(async (node): Promise<HeldBy> => ({ node, held: await heldBy(node) })))
  await releaseUnwanted(deps, held)
  await Promise.all(held.map((each) => loadMissing(each, wanted, deps.log)))
}

interface HeldBy {
  readonly node: SearchNodeClient
  /** Undefined when the node does not answer. */
  readonly held: ReadonlySet<string> | undefined
}

async function heldBy(node: SearchNodeClient): Promise<ReadonlySet<string> | undefined> {
  const status = await statusOf(node)
  return (
    status &&
    new Set(status.loaded.filter((version) => version.state !== 'releasing').map((version) => version.versionId))
  )
}

async function loadMissing({ node, held }: HeldBy, wanted: readonly PreparedVersion[], log: Log): Promise<void> {
  if (held === undefined) return
  for (const version of wanted.filter(({ versionId }) => !held.has(versionId))) {
    await prepareOn(node, version).then(
      () => log.info('version loaded', { node: node.address, version_id: version.versionId }),
      (error: unknown) =>
        log.warn('version could not be loaded', {
          node: node.address,
          version_id: version.versionId,
          reason: reasonOf(error),
        }),
    )
  }
}

/**
 * Reads and releases unwanted versions while no activation is in progress. A version that is about to become active
 * is therefore never released.
 */
async function releaseUnwanted({ database, log }: ReconcileDeps, nodes: readonly HeldBy[]): Promise<void> {
  await inTransaction(database, async (client) => {
    if (!(await tryLockReleases(client))) return
    const kept = await keptVersions(client)
    const releases = nodes.flatMap(({ node, held }) =>
      [...(held ?? [])].filter((id) => !kept.has(id)).map((id) => release(node, id, log)),
    )
    await Promise.all(releases)
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
      log.warn('version could not be released', {
        node: node.address,
        version_id: versionId,
        reason: reasonOf(error),
      }),
  )
}
