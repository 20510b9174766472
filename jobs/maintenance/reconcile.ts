import { BOUNDS } from '#core/platform/bounds.ts'
import { mayRelease } from '#core/db/activations.ts'
import { recentBuilds } from '#core/db/builds.ts'
import { inTransaction } from '#core/db/pool.ts'
import type { Database, Queryable } from '#core/db/pool.ts'
import { lingeringProjections, wantedProjections } from '#core/db/versions.ts'
import type { Log } from '#core/platform/log.ts'
import type { SearchNodeClient } from '#core/rpc/search-client.ts'
import { projectionIdOf } from '#jobs/build/ids.ts'
import { prepareOn, reasonOf, statusOf } from '#jobs/search-nodes.ts'
import type { Projection } from '#jobs/search-nodes.ts'

export interface ReconcileDeps {
  readonly database: Database
  readonly nodes: readonly SearchNodeClient[]
  readonly log: Log
}

/**
 * Loads and releases projections so that every live search node holds what Postgres says. An unreachable node is tried
 * again at the next run.
 */
export async function reconcile(deps: ReconcileDeps): Promise<void> {
  const wanted = await wantedProjections(deps.database)
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
    new Set(status.loaded.filter((version) => version.state !== 'releasing').map((version) => version.projectionId))
  )
}

async function loadMissing({ node, held }: HeldBy, wanted: readonly Projection[], log: Log): Promise<void> {
  if (held === undefined) return
  for (const projection of wanted.filter(({ projectionId }) => !held.has(projectionId))) {
    await prepareOn(node, projection).then(
      () => log.info('projection loaded', { node: node.address, projection_id: projection.projectionId }),
      (error: unknown) =>
        log.warn('projection could not be loaded', {
          node: node.address,
          projection_id: projection.projectionId,
          reason: reasonOf(error),
        }),
    )
  }
}

/**
 * Reads and releases unwanted projections while no activation is in progress. A version that is about to become active
 * is therefore never released.
 */
async function releaseUnwanted({ database, log }: ReconcileDeps, nodes: readonly HeldBy[]): Promise<void> {
  await inTransaction(database, async (client) => {
    if (!(await mayRelease(client))) return
    const kept = await keptProjections(client)
    const releases = nodes.flatMap(({ node, held }) =>
      [...(held ?? [])].filter((id) => !kept.has(id)).map((id) => release(node, id, log)),
    )
    await Promise.all(releases)
  })
}

/**
 * Returns projections that are wanted now, or were wanted so recently that a request may still be pinned to them. The
 * result depends on database rows alone, so any worker may run this.
 */
async function keptProjections(client: Queryable): Promise<ReadonlySet<string>> {
  const wanted = await wantedProjections(client)
  const lingering = await lingeringProjections(client, BOUNDS.versionIdleBeforeReleaseMs)
  const building = await recentBuilds(client, BOUNDS.versionIdleBeforeReleaseMs)
  return new Set([
    ...wanted.map((projection) => projection.projectionId),
    ...lingering,
    ...building.map(projectionIdOf),
  ])
}

async function release(node: SearchNodeClient, projectionId: string, log: Log): Promise<void> {
  await node.releaseVersion(projectionId, BOUNDS.statusTimeoutMs).then(
    () => log.info('projection released', { node: node.address, projection_id: projectionId }),
    (error: unknown) =>
      log.warn('projection could not be released', {
        node: node.address,
        projection_id: projectionId,
        reason: reasonOf(error),
      }),
  )
}
