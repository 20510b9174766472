import { parseArgs } from 'node:util'

export interface BenchFlags {
  /** Where to write the result as JSON. */
  readonly json: string | undefined
  /** Where to write the result as a page of its own. */
  readonly html: string | undefined
  readonly passages: number
  readonly dimensions: number
  /** Measured time of each cell and road. */
  readonly seconds: number
  readonly seed: number
  /** Artifacts stay here and are used again. */
  readonly dataDir: string
}

const USAGE = `npm run bench -- [options]

Measures the search alone, the search node over gRPC and the whole gateway path, one after the other, on an invented corpus.
Exit code 1 when a bar is missed.

  --json PATH        write every number as JSON
  --html PATH        write a page with the same numbers drawn
  --passages N       passages of the corpus (default 100000)
  --dimensions N     dimensions of the vectors (default 768)
  --seconds S        measured time of each cell and road (default 4)
  --seed N           seed of corpus and queries (default 1)
  --data-dir PATH    where artifacts are kept and used again (default .data/bench)
`

export class UsageError extends Error {
  override readonly name = 'UsageError'
}

const OPTIONS = {
  json: { type: 'string' },
  html: { type: 'string' },
  passages: { type: 'string', default: '100000' },
  dimensions: { type: 'string', default: '768' },
  seconds: { type: 'string', default: '4' },
  seed: { type: 'string', default: '1' },
  'data-dir': { type: 'string', default: '.data/bench' },
} as const

/** @throws UsageError */
export function benchFlags(args: readonly string[]): BenchFlags {
  const { values } = parse(args)
  return {
    json: values.json,
    html: values.html,
    passages: number('--passages', values.passages, 1_000, 2_000_000),
    dimensions: number('--dimensions', values.dimensions, 8, 4_096),
    seconds: number('--seconds', values.seconds, 0.1, 600),
    seed: number('--seed', values.seed, 0, 4_294_967_295),
    dataDir: values['data-dir'],
  }
}

function parse(args: readonly string[]): ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>> {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: false })
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : 'The options are not valid.'}\n\n${USAGE}`, { cause: error })
  }
}

function number(name: string, text: string, min: number, max: number): number {
  const value = Number(text)
  const whole = name === '--seconds' || Number.isInteger(value)
  if (text.trim() === '' || !whole || !(value >= min && value <= max)) throw new UsageError(`${name} must be a number from ${min} to ${max}.\n\n${USAGE}`)
  return value
}
