import { randomInt } from 'node:crypto'
import { numberOf, optionsOf } from '#test/support/long-run.ts'

export interface LawFlags {
  readonly seed: number
  readonly minutes: number
  /** Seed of one case that is run alone. */
  readonly only: number | undefined
  /** Kind of fault that is tried alone. */
  readonly row: string | undefined
  readonly innocent: boolean
  /** Ends at the first violation. */
  readonly first: boolean
}

export const USAGE = `npm run test:law -- [options]

Hands in altered sources, mappings, question sets, artifacts and rows as a hostile editor would. Each candidate is built
and compared with its active version. An oracle reads what both serve, and decides whether a change is not named or law
is lost. Exit code 1 when a guarantee is broken; the report names the seed of each case.

  --seed N      seed of the cases (default: a random one, which is printed)
  --minutes M   how long to run (default 1)
  --row NAME    tries one kind of fault alone, as the table names it
  --first       stops at the first violation
  --case N      runs the case of this seed alone
  --innocent    runs the table of honest editors instead, and counts what is refused
`

const text = { type: 'string' } as const
const flag = { type: 'boolean', default: false } as const
const OPTIONS = { seed: text, minutes: text, case: text, row: text, innocent: flag, first: flag, help: flag }

/** @throws UsageError with one sentence. */
export function lawFlags(args: readonly string[]): LawFlags | 'help' {
  const {
    help,
    seed = String(randomInt(2 ** 31)),
    minutes = '1',
    case: only,
    row,
    innocent,
    first,
  } = optionsOf(args, OPTIONS)
  if (help) return 'help'
  const seedOf = (name: string, given: string): number => numberOf(name, given, 0, 2 ** 31 - 1)
  return {
    seed: seedOf('seed', seed),
    minutes: numberOf('minutes', minutes, 0.001, 10_080, 3),
    only: only === undefined ? undefined : seedOf('case', only),
    row,
    innocent,
    first,
  }
}
