import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { UsageError } from '#test/support/long-run.ts'

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

/** @throws UsageError with one sentence. */
export function lawFlags(args: readonly string[]): LawFlags | 'help' {
  const values = parsed(args)
  if (values.help === true) return 'help'
  const seed = Number(values.seed ?? randomInt(2 ** 31))
  const minutes = Number(values.minutes ?? 1)
  const only = values.case === undefined ? undefined : Number(values.case)
  for (const [name, value] of Object.entries({ seed, case: only ?? 0 }))
    if (!Number.isInteger(value) || value < 0 || value >= 2 ** 31)
      throw new UsageError(`--${name} must be a whole number below 2^31`)
  if (!(minutes > 0 && minutes <= 10_080)) throw new UsageError('--minutes must be more than 0 and at most 10080')
  return { seed, minutes, only, row: values.row, innocent: values.innocent === true, first: values.first === true }
}

interface Values {
  readonly seed?: string
  readonly minutes?: string
  readonly case?: string
  readonly row?: string
  readonly innocent?: boolean
  readonly first?: boolean
  readonly help?: boolean
}

function parsed(args: readonly string[]): Values {
  const text = { type: 'string' } as const
  const flag = { type: 'boolean' } as const
  try {
    return parseArgs({
      args: [...args],
      options: { seed: text, minutes: text, case: text, row: text, innocent: flag, first: flag, help: flag },
    }).values
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : 'the options are not valid')
  }
}
