import { aligned } from '#test/bench/table.ts'
import { atLeast } from '#test/bench/thresholds.ts'
import type { Threshold } from '#test/bench/thresholds.ts'
import type { EnginesResult } from './result.ts'

const RECALL_MIN = 0.99
/** What a search node may need more for the largest corpus than for the smallest. */
const GROWTH_MEGABYTES_MAX = 200

export function judgeEngines(sizes: readonly EnginesResult[]): readonly Threshold[] {
  return [
    ...sizes.flatMap(({ passages, opensearch }) =>
      opensearch.lines.map(({ name, recall_at_10 }) =>
        atLeast(`recall@10 of OpenSearch, ${passages} passages, ${name}`, RECALL_MIN, recall_at_10, 3),
      ),
    ),
    ...judgeGrowth(sizes),
  ]
}

function judgeGrowth(sizes: readonly EnginesResult[]): readonly Threshold[] {
  const [least, ...others] = sizes.toSorted((a, b) => a.passages - b.passages)
  const most = others.at(-1)
  if (least === undefined || most === undefined) return []
  const of = `${most.passages} passages less that at ${least.passages}`
  return (['node_megabytes', 'node_written_megabytes'] as const).flatMap((name) => {
    const [small, large] = [least.opensearch[name], most.opensearch[name]]
    const what = name === 'node_megabytes' ? 'memory' : 'local disk'
    return small === null || large === null
      ? []
      : [
          {
            name: `${what} of a search node with OpenSearch at ${of}`,
            wanted: `≤ ${GROWTH_MEGABYTES_MAX} MB`,
            measured: `${(large - small).toFixed(0)} MB`,
            met: large - small <= GROWTH_MEGABYTES_MAX,
          },
        ]
  })
}

export function renderEngines(result: EnginesResult): string {
  const { passages, dimensions, local, opensearch, repeated } = result
  const lines = local.lines.flatMap((line, at) =>
    [line, opensearch.lines[at]].flatMap((shown, engine) =>
      shown === undefined
        ? []
        : [
            [
              engine === 0 ? `${shown.name}: ${shown.allowed}` : '',
              NAMES[engine] ?? '',
              ms(shown.latency.p50_ms),
              ms(shown.latency.p95_ms),
              ms(shown.latency.cpu_ms),
              shown.recall_at_10.toFixed(3),
              String(shown.latency.searches),
            ],
          ],
    ),
  )
  const repeats = `${repeated} searches were repeated, because the cluster did not answer in their time.`
  const head = ['filter: passages', 'engine', 'hybrid p50', 'p95', 'CPU', 'recall@10', 'searches']
  return `${passages} passages × ${dimensions}\n\n${renderFigures(result)}\n\n${aligned([head, ...lines])}\n\n${repeats}`
}

const NAMES = ['local', 'OpenSearch']

function renderFigures({ files_seconds, index, local, opensearch }: EnginesResult): string {
  const head = [
    'engine',
    'build',
    "of it the cluster's CPU",
    'artifact',
    'index',
    'cluster memory',
    'node opens in',
    'node memory',
    'node disk',
  ]
  const rows = [local, opensearch].map((figures, at) => [
    NAMES[at] ?? '',
    at === 0 ? `${files_seconds.toFixed(0)} s` : `files, and ${index.seconds.toFixed(0)} s`,
    at === 0 ? '–' : `${index.cpu_seconds.toFixed(0)} s`,
    megabytes(figures.artifact_megabytes),
    megabytes(figures.index_megabytes),
    megabytes(figures.cluster_megabytes),
    `${(figures.open_ms / 1_000).toFixed(1)} s`,
    megabytes(figures.node_megabytes),
    megabytes(figures.node_written_megabytes),
  ])
  return aligned([head, ...rows])
}

function megabytes(value: number | null): string {
  return value === null ? '–' : `${value.toFixed(0)} MB`
}

function ms(value: number): string {
  return `${value.toFixed(1)} ms`
}
