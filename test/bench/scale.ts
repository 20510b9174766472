import { atLeast, atMost } from './thresholds.ts'
import type { Threshold } from './thresholds.ts'
import type { NarrowResult } from './in-process.ts'
import type { BenchResult } from './result.ts'
import { aligned } from './table.ts'

/** Thresholds for up to a million passages on two cores. What grows with the corpus grows with it past a million. */
const PASSAGES = 1_000_000
const BUILD_SECONDS_MAX = 900
const BUILD_MEGABYTES_MAX = 6_144
const OPEN_MS_MAX = 5_000
const LEXICAL_P50_MS_MAX = 5
const HYBRID_P50_MS_MAX = 7
const HYBRID_P50_PAST_MS_MAX = 20
const HYBRID_P99_MS_MAX = 20
const RANDOM_RATIO_MAX = 2
const CORRELATED_P50_MS_MAX = 25
const RECALL_MIN = 0.98
/** Where a filter allows at most this share of the passages. */
const FEW_SHARE = 0.1
const FEW_RECALL_MIN = 0.99
/** Fewer allowed rows than are asked for: every one of them is an answer. */
const FEW_ROWS = 10

type Measured = Omit<BenchResult, 'thresholds'>

export function judgeScale({ passages, build, open_ms, inside, swap }: Measured): readonly Threshold[] {
  const times = Math.max(1, passages / PASSAGES)
  return [
    atMost(
      'build, vectors drawn and artifact written',
      BUILD_SECONDS_MAX * times,
      build.draw_seconds + build.write_seconds,
      's',
      1,
    ),
    atMost('memory of the build at most', BUILD_MEGABYTES_MAX, build.peak_megabytes, 'MB', 0),
    atMost('a fresh search node opens the version', OPEN_MS_MAX * times, open_ms, 'ms', 0),
    {
      name: 'failed requests while versions change',
      wanted: '0',
      measured: `${swap.failed} of ${swap.answered + swap.failed}`,
      met: swap.failed === 0 && swap.answered > 0,
    },
    atMost('lexical at p50, two at a time', LEXICAL_P50_MS_MAX * times, inside.lexical.p50_ms, 'ms', 2),
    atMost(
      'hybrid at p50, two at a time',
      times > 1 ? HYBRID_P50_PAST_MS_MAX : HYBRID_P50_MS_MAX,
      inside.hybrid.p50_ms,
      'ms',
      2,
    ),
    atMost('hybrid at p99, two at a time', HYBRID_P99_MS_MAX * times, inside.hybrid.p99_ms, 'ms', 2),
    ...judgeFilters(inside.narrow, passages, times),
  ]
}

function judgeFilters(narrow: readonly NarrowResult[], passages: number, times: number): readonly Threshold[] {
  const worst = (value: (result: NarrowResult) => number, of: (result: NarrowResult) => boolean): number =>
    Math.max(0, ...narrow.filter(of).map(value))
  const lowest = (of: (result: NarrowResult) => boolean): number =>
    Math.min(1, ...narrow.filter(of).map(({ recall_at_10 }) => recall_at_10))
  return [
    atMost(
      'random filters of unfiltered p50',
      RANDOM_RATIO_MAX,
      worst(
        ({ hybrid_ratio }) => hybrid_ratio,
        ({ relation }) => relation === 'random',
      ),
      '×',
      2,
    ),
    atMost(
      'hybrid at p50 under filters by neighbourhood',
      CORRELATED_P50_MS_MAX * times,
      worst(
        ({ hybrid }) => hybrid.p50_ms,
        ({ relation }) => relation !== 'random' && relation !== 'none',
      ),
      'ms',
      2,
    ),
    atLeast(
      'recall@10 under every filter',
      RECALL_MIN,
      lowest(() => true),
      3,
    ),
    atLeast(
      'recall@10 where a filter allows a tenth or less',
      FEW_RECALL_MIN,
      lowest(({ allowed }) => allowed <= FEW_SHARE * passages),
      3,
    ),
  ]
}

/** Latencies within the node by what is searched and what is allowed. */
export function renderInside({ inside }: Measured): string {
  const { lexical, dense, hybrid } = inside
  const modes = Object.entries({ lexical, dense, hybrid }).map(([mode, { searches, p50_ms, p99_ms, cpu_ms }]) => [
    mode,
    ms(p50_ms),
    ms(p99_ms),
    ms(cpu_ms),
    String(searches),
  ])
  const narrow = inside.narrow.map((line) => [
    line.name,
    String(line.allowed),
    ms(line.hybrid.p50_ms),
    ms(line.hybrid.p99_ms),
    `${line.hybrid_ratio.toFixed(2)} ×`,
    ms(line.hybrid.cpu_ms),
    ms(line.dense.p50_ms),
    `${line.dense_ratio.toFixed(2)} ×`,
    line.recall_at_10.toFixed(3),
    `${line.compared}${line.allowed < FEW_ROWS ? ': fewer rows than are asked for' : ''}`,
  ])
  const unasked = inside.unasked.map((name) => `\n${name}: the filter allows no passage to ask about.`).join('')
  return `${aligned([['two at a time', 'p50', 'p99', 'CPU', 'searches'], ...modes])}\n\n${aligned([
    [
      'filter',
      'allowed',
      'hybrid p50',
      'p99',
      'of unfiltered',
      'CPU',
      'dense p50',
      'of unfiltered',
      'recall@10',
      'questions',
    ],
    ...narrow,
  ])}${unasked}`
}

function ms(value: number): string {
  return `${value.toFixed(2)} ms`
}

/** What grows with the corpus, and by how much a passage. */
export function growth(results: readonly BenchResult[]): readonly GrowthRow[] {
  return results.map((result) => {
    const { passages, build, disk, open_ms, node_megabytes, inside, cells } = result
    const crowded = cells.filter(({ selectivity }) => selectivity === 'unfiltered').at(-1)
    const seconds = build.draw_seconds + build.write_seconds
    return {
      passages,
      build_seconds: seconds,
      build_microseconds_each: (seconds * 1e6) / passages,
      build_megabytes: build.peak_megabytes,
      build_kilobytes_each: (build.peak_megabytes * 1_024) / passages,
      disk_megabytes: disk.megabytes,
      disk_kilobytes_each: (disk.megabytes * 1_024) / passages,
      open_ms,
      open_microseconds_each: (open_ms * 1_000) / passages,
      node_megabytes,
      node_bytes_each: node_megabytes === null ? null : (node_megabytes * 1_048_576) / passages,
      lexical_p50_ms: inside.lexical.p50_ms,
      dense_p50_ms: inside.dense.p50_ms,
      hybrid_p50_ms: inside.hybrid.p50_ms,
      hybrid_p99_ms: inside.hybrid.p99_ms,
      full_per_second: crowded?.paths.full.per_second ?? 0,
      full_of_raw: crowded === undefined ? 0 : crowded.paths.full.per_second / crowded.paths.raw.per_second,
    }
  })
}

export interface GrowthRow {
  readonly passages: number
  readonly build_seconds: number
  readonly build_microseconds_each: number
  readonly build_megabytes: number
  readonly build_kilobytes_each: number
  readonly disk_megabytes: number
  readonly disk_kilobytes_each: number
  readonly open_ms: number
  readonly open_microseconds_each: number
  readonly node_megabytes: number | null
  readonly node_bytes_each: number | null
  readonly lexical_p50_ms: number
  readonly dense_p50_ms: number
  readonly hybrid_p50_ms: number
  readonly hybrid_p99_ms: number
  readonly full_per_second: number
  readonly full_of_raw: number
}

export function renderGrowth(rows: readonly GrowthRow[]): string {
  const head = [
    'passages',
    'build',
    'each',
    'build memory',
    'each',
    'disk',
    'each',
    'open',
    'each',
    'node memory',
    'each',
    'lexical p50',
    'dense p50',
    'hybrid p50',
    'p99',
    'full q/s',
    'full/raw',
  ]
  const lines = rows.map((row) => [
    String(row.passages),
    `${row.build_seconds.toFixed(1)} s`,
    `${row.build_microseconds_each.toFixed(0)} µs`,
    `${row.build_megabytes.toFixed(0)} MB`,
    `${row.build_kilobytes_each.toFixed(2)} kB`,
    `${row.disk_megabytes.toFixed(0)} MB`,
    `${row.disk_kilobytes_each.toFixed(2)} kB`,
    `${row.open_ms.toFixed(0)} ms`,
    `${row.open_microseconds_each.toFixed(1)} µs`,
    row.node_megabytes === null ? '?' : `${row.node_megabytes.toFixed(0)} MB`,
    row.node_bytes_each === null ? '?' : `${row.node_bytes_each.toFixed(0)} B`,
    ms(row.lexical_p50_ms),
    ms(row.dense_p50_ms),
    ms(row.hybrid_p50_ms),
    ms(row.hybrid_p99_ms),
    row.full_per_second.toFixed(0),
    row.full_of_raw.toFixed(2),
  ])
  return aligned([head, ...lines])
}
