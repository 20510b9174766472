import { randomInt } from 'node:crypto'
import { numberOf, optionsOf } from '#test/support/long-run.ts'

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

const OPTIONS = {
  seed: { type: 'string' },
  minutes: { type: 'string', default: '1' },
  help: { type: 'boolean', default: false },
} as const

/** @throws UsageError with one sentence. */
export function modelFlags(args: readonly string[]): ModelFlags | 'help' {
  const { help, seed, minutes } = optionsOf(args, OPTIONS)
  if (help) return 'help'
  return {
    seed: seed === undefined ? randomInt(2 ** 31) : numberOf('seed', seed, -(2 ** 31) + 1, 2 ** 31 - 1),
    minutes: numberOf('minutes', minutes, 0.001, 10_080, 3),
  }
}
