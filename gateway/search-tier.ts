import { status } from '@grpc/grpc-js'
import { Histogram, type Registry } from 'prom-client'
import { createBreaker } from '#core/platform/circuit-breaker.ts'
import type { Log } from '#core/platform/log.ts'
import { aboutMetric, createTally, gauge, type MetricName } from '#core/platform/metrics.ts'
import { openSearchNodeClient, isGrpcError, type CallFacts, type SearchNodeClient } from '#core/rpc/search-client.ts'
import { openSearchNodes } from '#core/rpc/search-nodes.ts'
import type { SearchQuery, SearchResult } from '#core/domain/search.ts'
import { clientCredentials, type TransportSettings } from '#core/rpc/transport.ts'
import { GATEWAY_BOUNDS } from './bounds.ts'

/** All search nodes behind one interface; they are replicas of the same immutable versions. */
export type SearchTier = Awaited<ReturnType<typeof openSearchTier>>

interface Call {
  readonly request: SearchQuery
  readonly about: CallFacts
}

interface Node {
  readonly client: SearchNodeClient
  inFlight: number
  readonly breaker: ReturnType<typeof createBreaker>
  /** Versions that it had when it was asked last; undefined: it was not asked yet. */
  held: ReadonlySet<string> | undefined
  isUp: boolean
  calls: number
  passedOver: number
  /** Times of the last calls, ms; one overwrites the oldest. */
  readonly lastMs: Float64Array
  /** Undefined once it is gone: a call that ends then would bring its series back. */
  seconds: { observe(seconds: number): void } | undefined
}

/** @param value of `SEARCH_NODES`. @param now milliseconds on a monotonic clock. */
export async function openSearchTier(
  value: string,
  transport: TransportSettings,
  log: Log,
  now: () => number = () => performance.now(),
) {
  const metrics = createNodeMetrics()
  const { nodes, close } = await openSearchNodes(value, {
    open: (address) => createNode(address, transport, metrics.seconds.labels(address), now),
    close(node) {
      node.client.close()
      node.seconds = undefined
      metrics.seconds.remove(node.client.address)
    },
    log,
  })
  let turn = 0

  function inOrder(versionId: string): readonly Node[] {
    turn = (turn + 1) % Math.max(1, nodes.length)
    return ordered([...nodes.slice(turn), ...nodes.slice(0, turn)], versionId)
  }

  return {
    /**
     * Asks the least busy node that holds the version; asks another one if that lacks the version, holds it damaged, is
     * full, or cannot be reached in time.
     */
    async search(request: SearchQuery, timeoutMs: number, signal: AbortSignal, about: CallFacts = {}) {
      const endsAtMs = now() + timeoutMs
      let last: unknown = new Error('no search node could be asked in time')
      for (const node of inOrder(request.versionId)) {
        const leftMs = endsAtMs - now()
        if (leftMs <= 0) break
        signal.throwIfAborted()
        try {
          return await ask(
            node,
            Math.min(leftMs, GATEWAY_BOUNDS.searchAttemptTimeoutMs),
            signal,
            { request, about },
            now,
          )
        } catch (error) {
          last = error
          if (!isWorthAnotherNode(error)) break
          node.passedOver++
          metrics.passedOver.add(node.client.address, isGrpcError(error) ? status[error.code] : 'UNKNOWN')
          log.warn('search node passed over', { ...about, node: node.client.address }, error)
        }
      }
      throw last
    },
    /** Whether at least one node answers within the time. What each holds is known from then on. */
    isReachable: (timeoutMs: number) =>
      Promise.any(nodes.map((node) => look(node, timeoutMs))).then(
        () => true,
        () => false,
      ),
    /** Whether a node had the version when it was asked last. */
    holds: (versionId: string) => nodes.some(({ held }) => held?.has(versionId) === true),
    /** Whether a node that answers had the version when it was asked last. */
    serves: (versionId: string) => nodes.some(({ isUp, held }) => isUp && held?.has(versionId) === true),
    nodes: () => nodes.map(stateOf),
    register: (registry: Registry) => metrics.register(registry, nodes),
    close,
  }
}

function createNode(address: string, transport: TransportSettings, seconds: Node['seconds'], now: () => number): Node {
  const { searchNodeCoolDownMs: pauseMs, searchNodeCoolDownMaxMs: pauseMaxMs } = GATEWAY_BOUNDS
  return {
    client: openSearchNodeClient(address, clientCredentials(address, transport)),
    inFlight: 0,
    breaker: createBreaker({ failuresMax: 1, pauseMs, pauseMaxMs }, now),
    held: undefined,
    isUp: false,
    calls: 0,
    passedOver: 0,
    lastMs: new Float64Array(GATEWAY_BOUNDS.searchNodeTimesKept),
    seconds,
  }
}

async function ask(
  node: Node,
  timeoutMs: number,
  signal: AbortSignal,
  call: Call,
  now: () => number,
): Promise<SearchResult & { readonly node: string }> {
  node.inFlight++
  const fromMs = now()
  try {
    const result = await node.breaker.watch(
      () => node.client.search(call.request, timeoutMs, signal, call.about),
      (error) => !signal.aborted && isFailureOfNode(error, timeoutMs),
    )
    return { ...result, node: node.client.address }
  } finally {
    node.inFlight--
    const tookMs = now() - fromMs
    node.lastMs[node.calls++ % node.lastMs.length] = tookMs
    node.seconds?.observe(tookMs / 1_000)
  }
}

async function look(node: Node, timeoutMs: number): Promise<void> {
  const { loaded } = await node.client.status(timeoutMs).catch((error: unknown) => {
    node.isUp = false
    throw error
  })
  node.isUp = true
  node.held = new Set(loaded.filter(({ state }) => state === 'loaded').map(({ versionId }) => versionId))
}

function stateOf({ client, inFlight, held, isUp, calls, passedOver, lastMs }: Node) {
  const sorted = lastMs.subarray(0, Math.min(calls, lastMs.length)).toSorted()
  const quantile = (share: number): number => sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN
  return {
    node: client.address,
    /** Whether it answered when it was asked last. */
    up: isUp,
    inFlight,
    held: [...(held ?? [])],
    /** Calls since the start, and those of them after which another node was asked. */
    calls,
    passedOver,
    /** Of the last calls; NaN: there was none. */
    p50Ms: quantile(0.5),
    p99Ms: quantile(0.99),
  }
}

function createNodeMetrics() {
  const seconds = new Histogram({
    ...aboutMetric('evidence_node_seconds'),
    buckets: [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5],
    registers: [],
  })
  const passedOver = createTally('evidence_node_passed_over_total')
  return {
    seconds,
    passedOver,
    register(registry: Registry, nodes: readonly Node[]): void {
      registry.registerMetric(seconds)
      passedOver.register(registry)
      const each = (name: MetricName, value: (node: Node) => number): void =>
        gauge(registry, name, () => nodes.map((node) => [{ node: node.client.address }, value(node)]))
      each('evidence_node_up', ({ isUp }) => Number(isUp))
      each('evidence_node_in_flight', ({ inFlight }) => inFlight)
      each('evidence_node_versions', ({ held }) => held?.size ?? 0)
    },
  }
}

/** Orders nodes by lack of the version, silence and failures (last), then by load (least first); ties stay. */
function ordered(nodes: readonly Node[], versionId: string): readonly Node[] {
  const unfit = ({ held, isUp, breaker }: Node): number =>
    Number(held?.has(versionId) === false) + Number(!isUp) + Number(breaker.isOpen())
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
