import type { Section } from '#operator/command-line/sections.ts'
import { isSettled } from './ledger.ts'
import { sumOf } from './load.ts'
import type { BenchResult } from './run.ts'

/** A threshold and whether it was met. */
export interface Threshold {
  readonly name: string
  readonly wanted: string
  readonly measured: string
  readonly met: boolean
}

const RECALL_MIN = 0.98
const MANY_CLIENTS = 32
/** What grows with the corpus may grow past this. */
const PASSAGES = 1_000_000
/** Times LanceDB's queries a second at 100,000 passages of 768 dimensions. */
const OF_LANCE_MIN = { unfiltered: 1.2, '22 %': 1.6, '1.8 %': 1.4 } as const

export function judge(result: BenchResult): readonly Threshold[] {
  return [...judgeCells(result), ...judgeNode(result), ...judgeLance(result)]
}

/** The thresholds of the throughput table. */
function judgeCells({ cells, found, ledger, delivered }: BenchResult): readonly Threshold[] {
  const crowded = cells.filter(({ clients }) => clients === MANY_CLIENTS)
  const [unfiltered] = crowded
  const alone = cells.filter(({ clients }) => clients === 1)
  const all = Object.values(found)
  const paths = cells.flatMap((cell) => Object.values(cell.paths).flatMap((path) => path ?? []))
  const failed = sumOf(paths, (path) => path.failed)
  const failure = paths.find((path) => path.failure !== null)?.failure ?? 'none failed'
  return [
    ...crowded.map(({ selectivity, paths: { full, raw } }) =>
      atLeast(
        `full path of the raw hybrid search, ${selectivity}, ${MANY_CLIENTS} clients`,
        0.3,
        ratio(full.per_second, raw.per_second),
        2,
      ),
    ),
    atMost("gateway's own share at p50, 1 client", 2, Math.max(...alone.map((cell) => cell.gateway.own_p50_ms)), 'ms'),
    ...crowded.slice(1).map(({ selectivity, paths: { full } }) => {
      const share = ratio(full.per_second, unfiltered?.paths.full.per_second ?? 0)
      return atLeast(`filtered of unfiltered, ${selectivity}, ${MANY_CLIENTS} clients`, 0.5, share, 2)
    }),
    atLeast(
      'recall@5 and @10 of the vectors, every filter of the table',
      RECALL_MIN,
      Math.min(...all.flatMap(({ recall_at_5, recall_at_10 }) => [recall_at_5, recall_at_10])),
      3,
    ),
    atLeast(
      'the same lists on every path',
      1,
      Math.min(...all.flatMap(({ grpc_same, full_same }) => [grpc_same, full_same])),
      3,
    ),
    {
      name: 'every request has its ledger entry',
      wanted: `${delivered} charged, none open`,
      measured: `${ledger.open} open, ${ledger.entries} entries, ${ledger.charged} charged`,
      met: isSettled(ledger) && ledger.delivered === delivered && ledger.charged === delivered,
    },
    { name: 'no request failed', wanted: '0', measured: `${failed} (${failure})`, met: failed === 0 },
  ]
}

/** Build, opening, and the searches of one client. */
function judgeNode({ passages, build, open_ms, cells }: BenchResult): readonly Threshold[] {
  const times = Math.max(1, passages / PASSAGES)
  const seconds = build.draw_seconds + build.write_seconds
  const raw = cells.filter(({ clients }) => clients === 1).map(({ paths }) => paths.raw)
  return [
    atMost('build, vectors drawn and artifact written', 900 * times, seconds, 's', 1),
    atMost('memory of the build at most', 6_144, build.peak_megabytes, 'MB', 0),
    atMost('a fresh search node opens the version', 5_000 * times, open_ms, 'ms', 0),
    atMost('raw search at p50, 1 client', times > 1 ? 20 : 7, Math.max(...raw.map(({ p50_ms }) => p50_ms)), 'ms'),
    atMost('raw search at p99, 1 client', 20 * times, Math.max(...raw.map(({ p99_ms }) => p99_ms)), 'ms'),
  ]
}

function judgeLance({ cells, found }: BenchResult): readonly Threshold[] {
  return cells.flatMap(({ selectivity, clients, paths: { full, lance } }) => {
    const { recall_at_5: recall, lance_recall_at_5: theirs } = found[selectivity]
    if (lance === undefined || theirs === null || clients === 1) return []
    const share = ratio(full.per_second, lance.per_second)
    const under = `${selectivity}, ${clients} clients`
    return [
      atLeast(`full path of LanceDB's hybrid query, ${under}`, OF_LANCE_MIN[selectivity], share, 2),
      atLeast(`recall@5 less LanceDB's, ${under}`, 0, recall - theirs, 3),
    ]
  })
}

export function thresholdSection(thresholds: readonly Threshold[]): Section {
  const missed = thresholds.filter(({ met }) => !met)
  return {
    title: 'Thresholds',
    head: ['threshold', 'wanted', 'measured', ''],
    rows: thresholds.map(({ name, wanted, measured, met }) => ({
      cells: [name, wanted, measured, met ? 'met' : 'MISSED'],
      style: met ? 'good' : 'bad',
    })),
    lines: [missed.length === 0 ? 'Every threshold is met.' : `${missed.length} threshold(s) missed.`],
  }
}

export function atLeast(name: string, least: number, measured: number, digits: number): Threshold {
  return { name, wanted: `≥ ${least}`, measured: measured.toFixed(digits), met: measured >= least }
}

/** What was not measured, 0 or not a number, is not met. */
function atMost(name: string, most: number, measured: number, unit: string, digits = 2): Threshold {
  const met = measured > 0 && measured <= most
  return { name, wanted: `≤ ${most} ${unit}`, measured: `${measured.toFixed(digits)} ${unit}`, met }
}

export function ratio(a: number, b: number): number {
  return b === 0 ? 0 : a / b
}
