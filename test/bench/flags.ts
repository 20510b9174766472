import { parseArgs } from 'node:util'

export interface BenchFlags {
  /** Where to write the result as JSON. */
  readonly json: string | undefined
  /** Where to write the result as a page of its own. */
  readonly html: string | undefined
  /** One size, or several to measure growth. */
  readonly passages: readonly number[]
  readonly dimensions: number
  /** Measured time of each cell and path. */
  readonly seconds: number
  readonly seed: number
  /** Artifacts stay here and are used again. */
  readonly dataDir: string
  /** Of the organization whose counters are rebuilt. */
  readonly deliveries: number
  /** Measure LanceDB beside the gateway. */
  readonly lancedb: boolean
}

const USAGE = `npm run bench -- [options]

Builds a synthetic corpus with the code of every build. Then measures the search alone, within the node and under
filters, the search node over gRPC, the whole gateway path, a change of versions under load, and a rebuild of limit
counters. Exit code 1 when a threshold is missed.

  --json PATH        write every number as JSON
  --html PATH        write a page with the same numbers drawn (one size only)
  --passages N[,N…]  passages of the corpus (default 100000); several sizes end with a table of their growth
  --dimensions N     dimensions of the vectors (default 768)
  --seconds S        measured time of each cell and path (default 4)
  --seed N           seed of corpus and queries (default 1)
  --data-dir PATH    where artifacts are kept and reused (default .data/bench)
  --deliveries N     deliveries of the organization whose counters are rebuilt (default 100000)
  --lancedb          install LanceDB into the data folder and compare its hybrid query with the gateway (one size only)
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
  deliveries: { type: 'string', default: '100000' },
  lancedb: { type: 'boolean', default: false },
} as const

/** @throws UsageError */
export function benchFlags(args: readonly string[]): BenchFlags {
  const { values } = parse(args)
  const passages = values.passages.split(',').map((text) => number('--passages', text, 1_000, 6_000_000))
  if (passages.length > 1 && (values.lancedb || values.html !== undefined))
    throw new UsageError(`--lancedb and --html are for one size.\n\n${USAGE}`)
  return {
    json: values.json,
    html: values.html,
    passages,
    dimensions: number('--dimensions', values.dimensions, 8, 4_096),
    seconds: number('--seconds', values.seconds, 0.01, 600),
    seed: number('--seed', values.seed, 0, 4_294_967_295),
    dataDir: values['data-dir'],
    deliveries: number('--deliveries', values.deliveries, 1, 1_000_000),
    lancedb: values.lancedb,
  }
}

function parse(args: readonly string[]): ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>> {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: false })
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : 'The options are not valid.'}\n\n${USAGE}`, {
      cause: error,
    })
  }
}

function number(name: string, text: string, min: number, max: number): number {
  const value = Number(text)
  const whole = name === '--seconds' || Number.isInteger(value)
  if (text.trim() === '' || !whole || !(value >= min && value <= max))
    throw new UsageError(`${name} must be a number from ${min} to ${max}.\n\n${USAGE}`)
  return value
}
