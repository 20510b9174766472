import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { UsageError } from '#test/support/long-run.ts'

export interface ModelFlags {
  readonly seed: number
  readonly minutes: number
}

export const USAGE = `npm run test:model -- [options]

Runs random sequences of requests, faults, crashes and moved clocks against the limits over a real Postgres and two real
Redis servers. After each step the decision is compared with a model, and at the end counters, reservations and ledger
are compared. Exit code 1 when a guarantee is broken; the report names the seed and the shortest sequence found.

  --seed N      seed of the sequences (default: a random one, which is printed)
  --minutes M   how long to run (default 1)
`

/** @throws UsageError with one sentence. */
export function modelFlags(args: readonly string[]): ModelFlags | 'help' {
  const { values } = parsed(args)
  if (values.help === true) return 'help'
  const seed = Number(values.seed ?? randomInt(2 ** 31))
  const minutes = Number(values.minutes ?? 1)
  if (!Number.isInteger(seed) || Math.abs(seed) >= 2 ** 31) throw new UsageError('--seed must be a 32-bit whole number')
  if (!(minutes > 0 && minutes <= 10_080)) throw new UsageError('--minutes must be more than 0 and at most 10080')
  return { seed, minutes }
}

function parsed(args: readonly string[]): { readonly values: { seed?: string; minutes?: string; help?: boolean } } {
  try {
    return parseArgs({
      args: [...args],
      options: { seed: { type: 'string' }, minutes: { type: 'string' }, help: { type: 'boolean' } },
    })
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : 'the options are not valid')
  }
}
