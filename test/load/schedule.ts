import { setTimeout as sleep } from 'node:timers/promises'
import type { Outgoing } from './arrivals.ts'
import { NO_REPLY, type Client } from './client.ts'
import type { RequestRecord } from './record.ts'

/** Requests under way at once; what arrives beyond is recorded as not sent. */
const UNDER_WAY_MAX = 8_000

export interface Offer {
  readonly phase: string
  /** Base URLs of the gateways. */
  readonly targets: readonly string[]
  readonly knowledgeBase: string
  readonly clockOffsetMs: number
  /** Longest Retry-After that is waited for. */
  readonly probeWaitMaxMs: number
  readonly requests: readonly Outgoing[]
  /** Nothing more is sent once it is aborted; what is under way is finished. */
  readonly signal: AbortSignal
}

/**
 * Sends each request at its instant, however many are still under way. The instant, not the start, begins its latency,
 * so a late generator or a slow service is not hidden. Resolves when every request has ended.
 */
export async function sendOffer(
  { requests, signal, targets, knowledgeBase, probeWaitMaxMs, ...offer }: Offer,
  client: Client,
  onRecord: (record: RequestRecord) => void,
): Promise<void> {
  const began = performance.now()
  const beganWallMs = Date.now()
  const underWay = new Set<Promise<void>>()

  async function exchange(request: Outgoing, atMs: number, probeOf: number | null): Promise<void> {
    const lateMs = performance.now() - began - atMs
    const startedMs = Date.now()
    const reply =
      underWay.size > UNDER_WAY_MAX
        ? { ...NO_REPLY, outcome: 'not sent' as const }
        : await client.send(targets[request.gateway] ?? '', knowledgeBase, request)
    const record = {
      ...offer,
      n: request.n,
      tenant: request.tenant,
      unknownKey: request.unknownKey ?? false,
      gateway: request.gateway,
      scheduledMs: beganWallMs + atMs,
      startedMs,
      endedMs: Date.now(),
      latencyMs: performance.now() - began - atMs,
      lateMs,
      idempotencyKey: request.idempotencyKey ?? null,
      probeOf,
      ...reply,
    }
    onRecord(record)
    if (request.probeN !== undefined && probeOf === null) await probe(request, request.probeN, record)
  }

  /** Exactly when Retry-After allows it, counted from the end of the refusal. */
  async function probe(request: Outgoing, n: number, { retryAfterSeconds }: RequestRecord): Promise<void> {
    const waitMs = (retryAfterSeconds ?? Infinity) * 1_000
    if (waitMs > probeWaitMaxMs) return
    await sleep(waitMs, undefined, { signal }).catch(() => undefined)
    if (!signal.aborted) await exchange({ ...request, n }, performance.now() - began, request.n)
  }

  for (const request of requests.toSorted((one, other) => one.atMs - other.atMs)) {
    for (;;) {
      const waitMs = request.atMs - (performance.now() - began)
      if (waitMs <= 0 || signal.aborted) break
      await sleep(waitMs, undefined, { signal }).catch(() => undefined)
    }
    if (signal.aborted) break
    const task = exchange(request, request.atMs, null).finally(() => underWay.delete(task))
    underWay.add(task)
  }
  while (underWay.size > 0) await Promise.all(underWay)
}
