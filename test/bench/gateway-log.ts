import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { z } from 'zod'

/** What the gateway's log says about one request. */
export interface LoggedRequest {
  /** Total less the time awaiting caller, Redis, Postgres, provider and search. */
  readonly own_ms: number
  readonly total_ms: number
  readonly status: number
  /** The stages that it went through, with spaces between them. */
  readonly stages: string
}

const lineSchema = z.object({
  event: z.literal('request'),
  own_ms: z.number(),
  total_ms: z.number(),
  status: z.number(),
  stages: z.string(),
})

/** The size of the log now: where the next lines will begin. */
export function logEnd(file: string): number {
  return statSync(file).size
}

/** Requests between two ends of the log, in order. */
export function readRequests(file: string, from: number, to: number): readonly LoggedRequest[] {
  const bytes = Buffer.alloc(to - from)
  const log = openSync(file, 'r')
  try {
    readSync(log, bytes, 0, bytes.length, from)
  } finally {
    closeSync(log)
  }
  return bytes
    .toString('utf8')
    .split('\n')
    .filter((line) => line.includes('"event":"request"'))
    .map((line) => lineSchema.parse(JSON.parse(line)))
}

/**
 * Sums of `evidence_wait_seconds` by party and of the gateway's own share, in milliseconds, and how many exchanges they
 * are of.
 */
export interface Waits {
  readonly exchanges: number
  readonly ms: Readonly<Record<string, number>>
}

export async function readWaits(internalUrl: string): Promise<Waits> {
  const text = await (await fetch(`${internalUrl}/metrics`)).text()
  const ms: Record<string, number> = {}
  for (const [, party = '', seconds] of text.matchAll(/^evidence_wait_seconds_sum\{party="(\w+)"\} (\S+)$/gm))
    ms[party] = Number(seconds) * 1_000
  ms['own'] = Number(/^evidence_gateway_own_seconds_sum (\S+)$/m.exec(text)?.[1] ?? 0) * 1_000
  return { exchanges: Number(/^evidence_gateway_own_seconds_count (\S+)$/m.exec(text)?.[1] ?? 0), ms }
}

/** Mean milliseconds per exchange between two readings. */
export function meanWaits(before: Waits, after: Waits): Readonly<Record<string, number>> {
  const exchanges = Math.max(1, after.exchanges - before.exchanges)
  return Object.fromEntries(
    Object.entries(after.ms).map(([party, ms]) => [party, (ms - (before.ms[party] ?? 0)) / exchanges]),
  )
}
