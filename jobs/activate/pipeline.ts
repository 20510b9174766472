import {
  finishActivation,
  blockReleases,
  lockActivation,
  lockVersion,
  movePointer,
  readActivation,
  setVersionState,
} from '#core/db/activations.ts'
import type { ActivationRow } from '#core/db/activations.ts'
import { appendAudit } from '#core/db/audit.ts'
import { inTransaction, type Database, type Queryable } from '#core/db/pool.ts'
import { readVersion, type VersionRow } from '#core/db/versions.ts'
import { withdrawalsInForce } from '#core/db/withdrawals.ts'
import { changesInWords } from '#core/domain/changes.ts'
import type { Log } from '#core/platform/log.ts'
import type { SearchNodeClient } from '#core/rpc/search-client.ts'
import type { SignedStore } from '#core/index/format/store.ts'
import type { Approved } from '#jobs/review/approvals.ts'
import { assertArtifactAsRecorded, assertFilesAsRecorded } from '#jobs/review/files.ts'
import { firstChanges } from '#jobs/review/first-changes.ts'
import { ReviewRefused } from '#jobs/review/review-refused.ts'
import { forkOf } from '#jobs/platform/published-head.ts'
import { lawUnderOtherIds, readLaw } from '#jobs/platform/withdrawn-law.ts'
import { prepareOnLiveNodes } from '#jobs/platform/search-nodes.ts'
import { extendChain, readChainRecord } from './chain.ts'
import { POINTER_MOVED, checkActivatable } from './check.ts'

export interface ActivateDeps {
  readonly database: Database
  /** Those of SEARCH_NODES, which change. */
  readonly nodes: readonly SearchNodeClient[]
  /** Holds the artifact and the report that was approved. */
  readonly store: SignedStore
  /** Signs the version chain; Ed25519, PKCS #8. */
  readonly privateKeyDer: Buffer
  readonly traceDir: string
  readonly log: Log
}

/**
 * Checks the version and its files, has every live search node load and verify it, and flips the pointer. Nothing
 * changes before the flip, and the flip is one transaction. A run that dies, repeats or races another therefore has no
 * effect twice. A refusal is an outcome and is recorded with the next step for the operator; only faults are thrown.
 */
export async function activate(deps: ActivateDeps, activationId: string, signal?: AbortSignal) {
  const activation = await readActivation(deps.database, activationId)
  if (activation === undefined || activation.state !== 'queued') return 'finished before'
  try {
    const { version, ...checked } = await check(deps, activation)
    const outcome = await inTransaction(deps.database, async (client) => {
      await blockReleases(client)
      const loadedOn = await load(deps, version, signal)
      return await flip(client, activationId, { version, ...checked, loadedOn, privateKeyDer: deps.privateKeyDer })
    })
    if (outcome === 'done') deps.log.info('version activated', { activation_id: activationId, version_id: version.id })
    return outcome
  } catch (error) {
    if (!(error instanceof ReviewRefused)) throw error
    const recorded = await finishActivation(deps.database, activationId, 'refused', error.message)
    deps.log.warn('activation refused', {
      activation_id: activationId,
      version_id: activation.version_id,
      reason: error.message,
    })
    return recorded ? 'refused' : 'finished before'
  }
}

/**
 * @throws ReviewRefused
 * @returns the first changes by label, for the audit trail; undefined for a rollback, and where no version is replaced.
 */
async function check(deps: ActivateDeps, activation: ActivationRow) {
  const { database, store, traceDir } = deps
  const found = await readVersion(database, activation.version_id)
  const { knowledge_base_id: id } = activation
  const fork = found && (await forkOf(database, traceDir, { id, slug: found.knowledge_base }))
  if (fork !== undefined) throw new ReviewRefused(fork)
  const { version } = await checkActivatable(database, activation, found)
  const isRollback = activation.kind === 'rollback'
  await (isRollback ? assertArtifactAsRecorded : assertFilesAsRecorded)(store, version)
  const law = await checkLaw(deps, version)
  const isListed = !isRollback && version.changes_sha256 !== null
  return { version, law, changes: isListed ? await firstChanges(store.changesFile(version.id)) : undefined }
}

/** @throws ReviewRefused where withdrawn law would be served under another id. @returns `inForce`: ids of withdrawals. */
async function checkLaw({ database, store }: ActivateDeps, version: VersionRow) {
  const law = await readLaw(database, store, version.knowledge_base_id)
  const found = await lawUnderOtherIds(law, store.artifactFolder(version.id), version.withdrawals_restored)
  if (found.length > 0)
    throw new ReviewRefused(
      'The version holds withdrawn law under another id: "operator withdraw CHUNK_ID --knowledge-base ' +
        `${version.knowledge_base} --version ${version.id}" withdraws it as well, and with --other-law states that it ` +
        `is other law; then activate again. ${found.join(' ')}`,
    )
  const inForce = law.filter((one) => one.in_force)
  const alone = inForce.flatMap(({ id, label, marks }) => (marks.size === 0 ? `${id} "${label}"` : []))
  const note =
    alone.length === 0 ? '' : ` Known by ids alone, since no version that held it is kept: ${alone.join(', ')}.`
  return { inForce: inForce.map(({ id }) => id).join(), note }
}

/**
 * Has every live node load the version, and verify it again where it is loaded. A node that does not answer is not live.
 * @returns the number of nodes that hold it.
 */
async function load(deps: ActivateDeps, version: VersionRow, signal?: AbortSignal): Promise<number> {
  const prepared = await prepareOnLiveNodes(
    deps.nodes,
    { versionId: version.id, manifestDigest: version.manifest_digest, verify: true },
    signal,
  )
  signal?.throwIfAborted()
  if (prepared.failed.length > 0) {
    const reasons = prepared.failed.map(({ address, reason }) => `${address} (${reason})`).join(', ')
    throw new ReviewRefused(
      `The version could not be loaded on ${reasons}: repair the search node or its copy of the ` +
        'artifact, then activate again.',
    )
  }
  if (prepared.loaded.length === 0)
    throw new ReviewRefused('No search node answers: start one of SEARCH_NODES, then activate again.')
  if (prepared.unreachable.length > 0)
    deps.log.warn('activating without a search node', {
      version_id: version.id,
      unreachable: prepared.unreachable.join(','),
    })
  return prepared.loaded.length
}

type Flip = Awaited<ReturnType<typeof check>> & { readonly loadedOn: number; readonly privateKeyDer: Buffer }

/** Writes pointer, states, outcome, entry of the version chain and audit row in one transaction. Every check is repeated under the locks. */
async function flip(client: Queryable, activationId: string, { loadedOn, changes, law, privateKeyDer }: Flip) {
  const activation = await lockActivation(client, activationId)
  if (activation === undefined || activation.state !== 'queued') return 'finished before'
  const { version_id: versionId, expected_version_id: predecessor, kind } = activation
  await lockVersion(client, versionId)
  const { version: before, approved } = await checkActivatable(client, activation, await readVersion(client, versionId))
  const inForce = await withdrawalsInForce(client, activation.knowledge_base_id)
  if (inForce.map(({ id }) => id).join() !== law.inForce)
    throw new ReviewRefused('A withdrawal began or ended meanwhile: activate again.')
  const record = await readChainRecord(client, activation, before, approved)
  if (!(await movePointer(client, activation))) throw new ReviewRefused(POINTER_MOVED)
  if (!(await setVersionState(client, versionId, before.state, 'active')))
    throw new ReviewRefused('The version changed its state meanwhile: check "operator versions show" and try again.')
  if (predecessor !== null) await setVersionState(client, predecessor, 'active', 'retired')
  const detail = {
    knowledge_base_id: activation.knowledge_base_id,
    predecessor,
    profile_id: before.profile_id,
    activation_id: activationId,
    search_nodes: loadedOn,
    ...approvalDetail(kind, approved, before, changes),
  }
  await finishActivation(client, activationId, 'done', `Active, loaded on ${loadedOn} search node(s).${law.note}`)
  await extendChain(client, activation, before, record, privateKeyDer)
  await appendAudit(client, {
    actor: activation.actor,
    action: kind === 'rollback' ? 'version.rollback' : 'version.activate',
    subject: `version:${versionId}`,
    detail,
  })
  return 'done'
}

/** What the audit row says about an approval. A rollback accepts no change, and may need none. */
function approvalDetail(
  kind: ActivationRow['kind'],
  approved: Approved | undefined,
  { comparison, changes_sha256 }: VersionRow,
  first: readonly string[] | undefined,
): Readonly<Record<string, unknown>> {
  if (approved === undefined) return {}
  if (kind === 'rollback') return { approved_by: approved.reviewers }
  const changes = comparison?.changes
  return {
    approved_by: approved.reviewers,
    accepted: approved.accepted,
    changes: changes === undefined ? null : changesInWords(changes),
    changes_sha256,
    first_changes: first ?? [],
  }
}
