import {
  finishActivation,
  holdOffReleases,
  lockActivation,
  lockVersion,
  movePointer,
  readActivation,
  setVersionState,
} from '#core/db/activations.ts'
import type { ActivationRow } from '#core/db/activations.ts'
import { appendAudit } from '#core/db/audit.ts'
import { inTransaction } from '#core/db/pool.ts'
import type { Database, Queryable } from '#core/db/pool.ts'
import { readVersion } from '#core/db/versions.ts'
import type { VersionRow } from '#core/db/versions.ts'
import type { Log } from '#core/platform/log.ts'
import type { SearchNodeClient } from '#core/rpc/search-client.ts'
import { prepareOnLiveNodes } from '#jobs/search-nodes.ts'
import { ActivationRefused, assertActivatable } from './check.ts'

export interface ActivateDeps {
  readonly database: Database
  /** All of SEARCH_NODES. */
  readonly nodes: readonly SearchNodeClient[]
  readonly log: Log
}

export type ActivationOutcome = 'done' | 'refused' | 'finished before'

/**
 * Checks the version, loads it on every live search node and flips the pointer. Nothing changes before the flip, and
 * the flip is one transaction. A run that dies, repeats or races another therefore has no effect twice. A refusal is an
 * outcome and is recorded with the next step for the operator; only faults are thrown.
 */
export async function activate(
  deps: ActivateDeps,
  activationId: string,
  signal?: AbortSignal,
): Promise<ActivationOutcome> {
  const activation = await readActivation(deps.database, activationId)
  if (activation === undefined || activation.state !== 'queued') return 'finished before'
  try {
    const version = await check(deps, activation)
    const outcome = await inTransaction(deps.database, async (client) => {
      await holdOffReleases(client)
      const loadedOn = await load(deps, version, signal)
      return await flip(client, activationId, loadedOn)
    })
    if (outcome === 'done') deps.log.info('version activated', { activation_id: activationId, version_id: version.id })
    return outcome
  } catch (error) {
    if (!(error instanceof ActivationRefused)) throw error
    const recorded = await finishActivation(deps.database, activationId, 'refused', error.message)
    deps.log.warn('activation refused', {
      activation_id: activationId,
      version_id: activation.version_id,
      reason: error.message,
    })
    return recorded ? 'refused' : 'finished before'
  }
}

async function check(deps: ActivateDeps, activation: ActivationRow): Promise<VersionRow> {
  const version = await readVersion(deps.database, activation.version_id)
  assertActivatable(activation, version)
  return version
}

/** @returns the number of nodes that loaded it. A node that does not answer is not live; a live node must load it. */
async function load(deps: ActivateDeps, version: VersionRow, signal?: AbortSignal): Promise<number> {
  const prepared = await prepareOnLiveNodes(
    deps.nodes,
    { projectionId: version.projection_id, manifestDigest: version.manifest_digest },
    signal,
  )
  signal?.throwIfAborted()
  if (prepared.failed.length > 0) {
    const reasons = prepared.failed.map(({ address, reason }) => `${address} (${reason})`).join(', ')
    throw new ActivationRefused(
      `The version could not be loaded on ${reasons}: repair the search node or its copy of the ` +
        'artifact, then activate again.',
    )
  }
  if (prepared.loaded.length === 0)
    throw new ActivationRefused('No search node answers: start one of SEARCH_NODES, then activate again.')
  if (prepared.unreachable.length > 0)
    deps.log.warn('activating without a search node', {
      version_id: version.id,
      unreachable: prepared.unreachable.join(','),
    })
  return prepared.loaded.length
}

/** Writes pointer, states, audit row and outcome in one transaction. Every check is repeated under the locks. */
async function flip(client: Queryable, activationId: string, loadedOn: number): Promise<ActivationOutcome> {
  const activation = await lockActivation(client, activationId)
  if (activation === undefined || activation.state !== 'queued') return 'finished before'
  const { version_id: versionId, expected_version_id: predecessor, kind } = activation
  await lockVersion(client, versionId)
  const before = await readVersion(client, versionId)
  assertActivatable(activation, before)
  if (!(await movePointer(client, activation, before.profile_id))) {
    throw new ActivationRefused(
      'Another version became active since this was asked for: check "operator versions list" and ' +
        'activate again if it is still wanted.',
    )
  }
  if (!(await setVersionState(client, versionId, before.state, 'active')))
    throw new ActivationRefused(
      'The version changed its state meanwhile: check "operator versions show" and try again.',
    )
  if (predecessor !== null) await setVersionState(client, predecessor, 'active', 'retired')
  const detail = {
    knowledge_base_id: activation.knowledge_base_id,
    predecessor,
    profile_id: before.profile_id,
    activation_id: activationId,
    search_nodes: loadedOn,
    override_reason: activation.override_reason,
  }
  await finishActivation(client, activationId, 'done', `Active, loaded on ${loadedOn} search node(s).`)
  await appendAudit(client, {
    actor: activation.actor,
    action: kind === 'rollback' ? 'version.rollback' : 'version.activate',
    subject: `version:${versionId}`,
    detail,
  })
  return 'done'
}
