import { status } from '@grpc/grpc-js'
import type { Log } from '#core/platform/log.ts'
import { openSearchNodeClient, isGrpcError, type CallFacts, type SearchNodeClient } from '#core/rpc/search-client.ts'
import type { SearchQuery, SearchResult } from '#core/domain/search.ts'
import { clientCredentials, type TransportSettings } from '#core/rpc/transport.ts'
import { GATEWAY_BOUNDS } from './bounds.ts'

/** All search nodes behind one interface; they are replicas of the same immutable versions. */
export interface SearchTier {
  /** Asks the least busy node that holds the version; asks another one if that lacks the version, holds it damaged, is full, or cannot be reached in time. */
  search(request: SearchQuery, timeoutMs: number, signal: AbortSignal, about?: CallFacts): Promise<NodeResult>
  /** Whether at least one node answers within the time. What each holds is known from then on. */
  isReachable(timeoutMs: number): Promise<boolean>
  /** Whether a node had the version when it was asked last. */
  holds(versionId: string): boolean
  close(): void
}

/** A result with the address of the node that gave it. */
export type NodeResult = SearchResult & { readonly node: string }

interface Call {
  readonly request: SearchQuery
  readonly about: CallFacts
}

interface Node {
  readonly client: SearchNodeClient
  inFlight: number
  failedAtMs: number
  /** Versions that it had when it was asked last; undefined: it was not asked yet. */
  held: ReadonlySet<string> | undefined
}

/** @param now milliseconds on a monotonic clock. */
export function openSearchTier(
  addresses: readonly string[],
  transport: TransportSettings,
  log: Log,
  now: () => number = () => performance.now(),
): SearchTier {
  const nodes: Node[] = addresses.map((address) => ({
    client: openSearchNodeClient(address, clientCredentials(address, transport)),
    inFlight: 0,
    failedAtMs: Number.NEGATIVE_INFINITY,
    held: undefined,
  }))
  let turn = 0

  function inOrder(versionId: string): readonly Node[] {
    turn = (turn + 1) % nodes.length
    return ordered([...nodes.slice(turn), ...nodes.slice(0, turn)], versionId, now())
  }

  async function ask(node: Node, timeoutMs: number, signal: AbortSignal, call: Call): Promise<NodeResult> {
    node.inFlight++
    try {
      const { address: name } = node.client
      return { ...(await node.client.search(call.request, timeoutMs, signal, call.about)), node: name }
    } catch (error) {
      if (!signal.aborted && isFailureOfNode(error, timeoutMs)) node.failedAtMs = now()
      throw error
    } finally {
      node.inFlight--
    }
  }

  return {
    search: async (request, timeoutMs, signal, about = {}) => {
      const endsAtMs = now() + timeoutMs
      let last: unknown = new Error('no search node could be asked in time')
      for (const node of inOrder(request.versionId)) {
        const leftMs = endsAtMs - now()
        if (leftMs <= 0) break
        signal.throwIfAborted()
        try {
          return await ask(node, Math.min(leftMs, GATEWAY_BOUNDS.searchAttemptTimeoutMs), signal, { request, about })
        } catch (error) {
          last = error
          if (!isWorthAnotherNode(error)) break
          log.warn('search node passed over', { ...about, node: node.client.address }, error)
        }
      }
      throw last
    },
    isReachable: (timeoutMs) =>
      Promise.any(nodes.map((node) => look(node, timeoutMs))).then(
        () => true,
        () => false,
      ),
    holds: (versionId) => nodes.some(({ held }) => held?.has(versionId) === true),
    close: () => {
      for (const node of nodes) node.client.close()
    },
  }
}

async function look(node: Node, timeoutMs: number): Promise<void> {
  const { loaded } = await node.client.status(timeoutMs)
  node.held = new Set(loaded.filter(({ state }) => state === 'loaded').map(({ versionId }) => versionId))
}

/** Orders nodes by lack of the version and recent failure (last), then by load (least first); ties stay. */
function ordered(nodes: readonly Node[], versionId: string, atMs: number): readonly Node[] {
  const unfit = (node: Node): number =>
    Number(node.held?.has(versionId) === false) + Number(atMs - node.failedAtMs < GATEWAY_BOUNDS.searchNodeCoolDownMs)
  return nodes.toSorted((a, b) => unfit(a) - unfit(b) || a.inFlight - b.inFlight)
}

/** A node fails if another one might answer. It had too little time if the request had less left than an attempt. */
function isFailureOfNode(error: unknown, timeoutMs: number): boolean {
  const isLate = isGrpcError(error) && error.code === status.DEADLINE_EXCEEDED
  return isWorthAnotherNode(error) && (!isLate || timeoutMs >= GATEWAY_BOUNDS.searchAttemptTimeoutMs)
}

function isWorthAnotherNode(error: unknown): boolean {
  if (!isGrpcError(error)) return false
  const { FAILED_PRECONDITION, UNAVAILABLE, RESOURCE_EXHAUSTED, DEADLINE_EXCEEDED, DATA_LOSS, INTERNAL } = status
  return [FAILED_PRECONDITION, UNAVAILABLE, RESOURCE_EXHAUSTED, DEADLINE_EXCEEDED, DATA_LOSS, INTERNAL].includes(
    error.code,
  )
}
