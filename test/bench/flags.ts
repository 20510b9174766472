import { UsageError, numberOf, optionsOf } from '#test/support/long-run.ts'
import { ENGINES } from '#core/index/engine/description.ts'
import { REAL_DIMENSIONS } from './real/encoder.ts'
import { whatIsMissing } from './real/texts.ts'

/** As `USAGE` says. */
export type BenchFlags = Exclude<ReturnType<typeof benchFlags>, 'help'>

export const USAGE = `npm run bench -- [options]

Builds a synthetic corpus with the code of every build; its vectors are as hard to search as those of a sentence
encoder. Then measures the search alone, the search node over gRPC and the whole gateway path, each without a filter and
under two. Exit code 1 when a threshold is missed.

  --against COMMIT   measure the tree of a commit and this one by turns, and show their ratios; about five minutes
  --rounds N         rounds of that comparison (default 24); more rounds give narrower intervals
  --json PATH        write every number as JSON
  --html PATH        write a page with the same tables
  --passages N       passages of the corpus (default 100000; with --against 20000)
  --dimensions N     dimensions of the vectors (default 768; with --against 384)
  --seconds S        measured time of each cell and path (default 4; with --against 1 in each round)
  --seed N           seed of corpus and queries (default 1)
  --data-dir PATH    where artifacts are kept and reused (default .data/bench)
  --real-vectors     passages of ../shared/data and field questions, encoded by the model in ../shared/models, up to
                     --passages (then default 5000: encoding takes half an hour for 50000, once)
  --model FOLDER     measure only the encoder of this model: questions alone and beside a build, passages a second,
                     memory, on real texts where ../shared/data is there
  --engine opensearch
                     compare the local engine with OpenSearch instead, which is started where a JDK and Maven are found:
                     build, bytes, latency and recall by selectivity, and what a search node needs
  --lancedb          install LanceDB into the data folder and compare its hybrid query with the gateway
`

const OPTIONS = {
  json: { type: 'string' },
  html: { type: 'string' },
  against: { type: 'string' },
  rounds: { type: 'string', default: '24' },
  passages: { type: 'string' },
  dimensions: { type: 'string' },
  seconds: { type: 'string' },
  seed: { type: 'string', default: '1' },
  'data-dir': { type: 'string', default: '.data/bench' },
  lancedb: { type: 'boolean', default: false },
  'real-vectors': { type: 'boolean', default: false },
  model: { type: 'string' },
  engine: { type: 'string', default: 'local' },
  help: { type: 'boolean', default: false },
} as const

/** @throws UsageError with one sentence. */
export function benchFlags(args: readonly string[]) {
  const values = optionsOf(args, OPTIONS)
  if (values.help) return 'help' as const
  const { engine, against, model, json, html, lancedb, 'real-vectors': realVectors } = values
  const alone = { '--against': against !== undefined, '--model': model !== undefined, '--engine': engine !== 'local' }
  const chosen = Object.entries(alone).flatMap(([name, is]) => (is ? [name] : []))
  if (chosen.length > 1 || (chosen.length === 1 && lancedb))
    throw new UsageError(`${chosen.join(' and ')}${lancedb ? ' and --lancedb' : ''} are measured apart.`)
  if (realVectors && (values.dimensions !== undefined || against !== undefined))
    throw new UsageError('Real vectors have their own dimensions, and --against has generated ones.')
  if (!ENGINES.some((name) => name === engine)) throw new UsageError(`--engine is one of ${ENGINES.join(', ')}.`)
  const missing = realVectors ? whatIsMissing() : undefined
  if (missing !== undefined) throw new UsageError(missing)
  const [passages, dimensions, seconds] =
    against === undefined ? [realVectors ? '5000' : '100000', '768', '4'] : ['20000', '384', '1']
  return {
    json,
    html,
    passages: numberOf('passages', values.passages ?? passages, 1_000, 6_000_000),
    dimensions: realVectors ? REAL_DIMENSIONS : numberOf('dimensions', values.dimensions ?? dimensions, 8, 4_096),
    seconds: numberOf('seconds', values.seconds ?? seconds, 0.01, 600, 2),
    seed: numberOf('seed', values.seed, 0, 4_294_967_295),
    dataDir: values['data-dir'],
    lancedb,
    realVectors,
    model,
    engine: engine === 'opensearch',
    against,
    rounds: numberOf('rounds', values.rounds, 3, 1_000),
  }
}
