import { status } from '@grpc/grpc-js'
import { RPC_BOUNDS } from '#core/rpc/bounds.ts'
import { openSearchNodes } from '#core/rpc/search-nodes.ts'
import { openSearchNodeClient, isGrpcError, type SearchNodeClient } from '#core/rpc/search-client.ts'
import type { NodeStatus, VersionRef } from '#core/domain/search.ts'
import type { Log } from '#core/platform/log.ts'
import { clientCredentials, type TransportSettings } from '#core/rpc/transport.ts'
import { JOB_BOUNDS } from './bounds.ts'

export function followSearchNodes(config: TransportSettings & { readonly SEARCH_NODES: string }, log: Log) {
  return openSearchNodes(config.SEARCH_NODES, {
    open: (address) => openSearchNodeClient(address, clientCredentials(address, config)),
    close: (node) => node.close(),
    log,
  })
}

/** Temporary failure, independent of the corpus: search nodes may return, so the build is retried. */
export class NoSearchNodeError extends Error {
  override readonly name = 'NoSearchNodeError'
  /** @param what was to be loaded, as a sentence names it. */
  constructor(what: string, failed: Awaited<ReturnType<typeof prepareOnLiveNodes>>['failed']) {
    const reasons = failed.map(({ address, reason }) => `${address} ${reason}`)
    super(
      `No search node could load ${what} ` +
        `(${reasons.length === 0 ? 'none of SEARCH_NODES answers' : reasons.join('; ')}): start or ` +
        'repair a search node, then build again.',
    )
  }
}

/** @returns undefined when the node does not answer. */
export async function statusOf(node: SearchNodeClient): Promise<NodeStatus | undefined> {
  return node.status(JOB_BOUNDS.statusTimeoutMs).catch(() => undefined)
}

/**
 * Loads a version on every live node concurrently; idempotent. A node whose connection breaks is asked for its
 * status again. A node without a status is unreachable; a node that answers but does not load has failed.
 * @returns `unreachable`: addresses of nodes that do not answer; they are not live and load the active version when they
 * return. `failed`: live nodes that could not load it.
 */
export async function prepareOnLiveNodes(
  nodes: readonly SearchNodeClient[],
  version: VersionRef,
  signal?: AbortSignal,
) {
  const loaded: SearchNodeClient[] = []
  const unreachable: string[] = []
  const failed: { address: string; reason: string }[] = []
  async function prepare(node: SearchNodeClient): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      if ((await statusOf(node)) === undefined) return void unreachable.push(node.address)
      try {
        await prepareOn(node, version, signal)
        return void loaded.push(node)
      } catch (error) {
        if (isGrpcError(error) && error.code === status.UNAVAILABLE && attempt < JOB_BOUNDS.prepareAttemptsMax) continue
        return void failed.push({ address: node.address, reason: reasonOf(error) })
      }
    }
  }
  await Promise.all(nodes.map(prepare))
  return { loaded, unreachable, failed }
}

export async function prepareOn(node: SearchNodeClient, version: VersionRef, signal?: AbortSignal): Promise<void> {
  await node.prepareVersion(
    { versionId: version.versionId, manifestDigest: version.manifestDigest, verify: version.verify ?? false },
    RPC_BOUNDS.prepareTimeoutMs,
    signal,
  )
}

export function reasonOf(error: unknown): string {
  if (isGrpcError(error))
    return `${status[error.code] ?? error.code}: ${error.details}`.slice(0, JOB_BOUNDS.nodeFaultCharactersMax)
  return error instanceof Error ? error.message.slice(0, JOB_BOUNDS.nodeFaultCharactersMax) : 'unknown'
}
