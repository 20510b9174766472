import { setTimeout as sleep } from 'node:timers/promises'
import type { RequestRecord } from '../record.ts'
import { NO_REPLY } from './client.ts'
import type { Client } from './client.ts'
import type { Offer, Outgoing } from './messages.ts'

/** Requests under way at once; what arrives beyond is recorded as not sent. */
const UNDER_WAY_MAX = 8_000

export interface Schedule {
  /** Resolves when every request has ended. */
  readonly done: Promise<void>
  stop(): void
}

/**
 * Sends each request at its instant, however many are still under way. The instant, not the start, begins its latency,
 * so a late generator or a slow service is not hidden.
 */
export function startSchedule(offer: Offer, client: Client, onRecord: (record: RequestRecord) => void): Schedule {
  const requests = offer.requests.toSorted((one, other) => one.atMs - other.atMs)
  const began = performance.now()
  const beganWallMs = Date.now()
  const stopped = new AbortController()
  const underWay = new Set<Promise<void>>()
  let next = 0

  async function exchange(request: Outgoing, atMs: number, probeOf: number | null): Promise<void> {
    const lateMs = performance.now() - began - atMs
    const startedMs = Date.now()
    const full = underWay.size > UNDER_WAY_MAX
    const reply = full
      ? { ...NO_REPLY, outcome: 'not sent' as const }
      : await client.send(offer.targets[request.gateway] ?? '', offer.knowledgeBase, request)
    const record = {
      n: request.n,
      phase: offer.phase,
      tenant: request.tenant,
      unknownKey: request.unknownKey,
      gateway: request.gateway,
      scheduledMs: beganWallMs + atMs,
      startedMs,
      endedMs: Date.now(),
      latencyMs: performance.now() - began - atMs,
      lateMs,
      clockOffsetMs: offer.clockOffsetMs,
      idempotencyKey: request.idempotencyKey,
      probeOf,
      ...reply,
    }
    onRecord(record)
    if (request.probeN !== null && probeOf === null) await probe(request, request.probeN, record)
  }

  /** Exactly when Retry-After allows it, counted from the end of the refusal. */
  async function probe(request: Outgoing, n: number, { retryAfterSeconds }: RequestRecord): Promise<void> {
    const waitMs = (retryAfterSeconds ?? Infinity) * 1_000
    if (waitMs > offer.probeWaitMaxMs || stopped.signal.aborted) return
    await sleep(waitMs, undefined, { signal: stopped.signal }).catch(() => undefined)
    if (!stopped.signal.aborted) await exchange({ ...request, n }, performance.now() - began, request.n)
  }

  async function send(): Promise<void> {
    while (next < requests.length && !stopped.signal.aborted) {
      const request = requests[next]
      if (request === undefined) break
      const waitMs = request.atMs - (performance.now() - began)
      if (waitMs > 0) {
        await sleep(waitMs, undefined, { signal: stopped.signal }).catch(() => undefined)
        continue
      }
      next++
      const task = exchange(request, request.atMs, null).finally(() => underWay.delete(task))
      underWay.add(task)
    }
    while (underWay.size > 0) await Promise.all(underWay)
  }

  return { done: send(), stop: () => stopped.abort() }
}
