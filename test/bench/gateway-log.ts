import { readFileSync, statSync } from 'node:fs'
import { z } from 'zod'

const lineSchema = z.object({
  event: z.literal('request'),
  /** Total less the time awaiting caller, Redis, Postgres, provider and search. */
  own_ms: z.number(),
})
type LoggedRequest = z.infer<typeof lineSchema>

/** The size of the log now: where the next lines will begin. */
export function logEnd(file: string): number {
  return statSync(file).size
}

/** Requests between two ends of the log, in order. */
export function readRequests(file: string, from: number, to: number): readonly LoggedRequest[] {
  return readFileSync(file)
    .toString('utf8', from, to)
    .split('\n')
    .filter((line) => line.includes('"event":"request"'))
    .map((line) => lineSchema.parse(JSON.parse(line)))
}

type Waits = Awaited<ReturnType<typeof readWaits>>

/** Milliseconds by party that the gateway waited for, its own, and how many exchanges they are of. */
export async function readWaits(internalUrl: string) {
  const text = await (await fetch(`${internalUrl}/metrics`)).text()
  const ms: Record<string, number> = {}
  for (const [, party = 'own', seconds] of text.matchAll(
    /^evidence_(?:wait_seconds_sum\{party="(\w+)"\}|gateway_own_seconds_sum) (\S+)$/gm,
  ))
    ms[party] = Number(seconds) * 1_000
  return { exchanges: Number(/^evidence_gateway_own_seconds_count (\S+)$/m.exec(text)?.[1] ?? 0), ms }
}

/** Mean milliseconds per exchange between two readings. */
export function meanWaits(before: Waits, after: Waits): Readonly<Record<string, number>> {
  const exchanges = Math.max(1, after.exchanges - before.exchanges)
  return Object.fromEntries(
    Object.entries(after.ms).map(([party, ms]) => [party, (ms - (before.ms[party] ?? 0)) / exchanges]),
  )
}
