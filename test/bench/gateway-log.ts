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
    .filter((line) => line.includes('"own_ms"'))
    .map((line) => lineSchema.parse(JSON.parse(line)))
}
