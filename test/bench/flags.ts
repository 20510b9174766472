import { parseArgs } from 'node:util'
import { INDEX_BOUNDS } from '#core/index/bounds.ts'
import { ENGINES } from '#core/index/engine/description.ts'
import { REAL_DIMENSIONS } from './real/encoder.ts'
import { whatIsMissing } from './real/texts.ts'

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
  /** Codes of vectors that a search node keeps in memory, in MiB. */
  readonly codesMb: number
  /** Artifacts stay here and are used again. */
  readonly dataDir: string
  /** Of the organization whose counters are rebuilt. */
  readonly deliveries: number
  /** Measure LanceDB beside the gateway. */
  readonly lancedb: boolean
  /** Compare versions that are searched in their own files with versions in a cluster; nothing else is measured. */
  readonly engine: boolean
  /** Passages and questions of a real encoder instead of generated ones. */
  readonly realVectors: boolean
  /** Measure only the encoder of this model, a folder or name. */
  readonly model: string | undefined
  /** Base URL of an endpoint that is measured beside that encoder. */
  readonly compare: string | undefined
}

const USAGE = `npm run bench -- [options]

Builds a synthetic corpus with the code of every build; its vectors are as hard to search as those of a sentence
encoder. Then measures the search alone, within the node and under
filters, the search node over gRPC, the whole gateway path, a change of versions under load, and a rebuild of limit
counters. Exit code 1 when a threshold is missed.

  --json PATH        write every number as JSON
  --html PATH        write a page with the same numbers drawn (one size only)
  --passages N[,N…]  passages of the corpus (default 100000); several sizes end with a table of their growth
  --dimensions N     dimensions of the vectors (default 768)
  --seconds S        measured time of each cell and path (default 4)
  --seed N           seed of corpus and queries (default 1)
  --codes-mb N       SEARCH_CODES_MB of the search node (default 64)
  --data-dir PATH    where artifacts are kept and reused (default .data/bench)
  --deliveries N     deliveries of the organization whose counters are rebuilt (default 100000)
  --real-vectors     passages of ../shared/data and natural questions, encoded by the model in ../shared/models, up to
                     --passages (then default 5000: encoding takes half an hour for 50000, once)
  --model FOLDER     measure only the encoder of this model: questions alone and beside a build, passages a second,
                     memory, on real texts where ../shared/data is there
  --compare URL      with --model: another endpoint of the same model, measured by turns with the encoder
  --engine opensearch
                     compare the local engine with OpenSearch instead, which is started where a JDK and Maven are found:
                     build, bytes, latency and recall by selectivity, and what a search node needs
  --lancedb          install LanceDB into the data folder and compare its hybrid query with the gateway (one size only)
`

export class UsageError extends Error {
  override readonly name = 'UsageError'
}

const PASSAGES = '100000'
/** Vectors of a real encoder take time. */
const REAL_PASSAGES = '5000'
const DIMENSIONS = '768'

const OPTIONS = {
  json: { type: 'string' },
  html: { type: 'string' },
  passages: { type: 'string' },
  dimensions: { type: 'string' },
  seconds: { type: 'string', default: '4' },
  seed: { type: 'string', default: '1' },
  'codes-mb': { type: 'string', default: String(INDEX_BOUNDS.residentCodesMbDefault) },
  'data-dir': { type: 'string', default: '.data/bench' },
  deliveries: { type: 'string', default: '100000' },
  lancedb: { type: 'boolean', default: false },
  'real-vectors': { type: 'boolean', default: false },
  model: { type: 'string' },
  compare: { type: 'string' },
  engine: { type: 'string', default: 'local' },
} as const

/** @throws UsageError */
export function benchFlags(args: readonly string[]): BenchFlags {
  const { values } = parse(args)
  const real = values['real-vectors']
  const passages = (values.passages ?? (real ? REAL_PASSAGES : PASSAGES))
    .split(',')
    .map((text) => number('--passages', text, 1_000, 6_000_000))
  if (passages.length > 1 && (values.lancedb || values.html !== undefined))
    throw new UsageError(`--lancedb and --html are for one size.\n\n${USAGE}`)
  if (real && (passages.length > 1 || values.dimensions !== undefined))
    throw new UsageError(`Real vectors are for one size and have their own dimensions.\n\n${USAGE}`)
  if (values.compare !== undefined && values.model === undefined)
    throw new UsageError(`--compare is measured beside the encoder of --model.\n\n${USAGE}`)
  const { engine } = values
  if (!isEngine(engine)) throw new UsageError(`--engine is one of ${ENGINES.join(', ')}.\n\n${USAGE}`)
  if (engine !== 'local' && (values.lancedb || values.html !== undefined))
    throw new UsageError(`--lancedb and --html are for the local engine.\n\n${USAGE}`)
  const missing = real ? whatIsMissing() : undefined
  if (missing !== undefined) throw new UsageError(missing)
  return {
    json: values.json,
    html: values.html,
    passages,
    dimensions: real ? REAL_DIMENSIONS : number('--dimensions', values.dimensions ?? DIMENSIONS, 8, 4_096),
    seconds: number('--seconds', values.seconds, 0.01, 600),
    seed: number('--seed', values.seed, 0, 4_294_967_295),
    codesMb: number('--codes-mb', values['codes-mb'], 0, INDEX_BOUNDS.residentCodesMbMax),
    dataDir: values['data-dir'],
    deliveries: number('--deliveries', values.deliveries, 1, 1_000_000),
    lancedb: values.lancedb,
    realVectors: real,
    model: values.model,
    compare: values.compare,
    engine: engine === 'opensearch',
  }
}

const isEngine = (name: string): boolean => ENGINES.some((engine) => engine === name)

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
