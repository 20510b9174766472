import type { Selectivity } from './corpus.ts'
import type { LedgerState } from './ledger.ts'
import { isSettled } from './ledger.ts'
import type { Cell } from './measure.ts'

/** A threshold and whether it was met. */
export interface Threshold {
  readonly name: string
  readonly wanted: string
  readonly measured: string
  readonly met: boolean
}

/** What the paths found under one filter. */
export interface Found {
  /** Of the vectors, against the exact answer. */
  readonly recall_at_5: number
  readonly recall_at_10: number
  /**
   * Share of the questions to which the search node gives the very list of the raw search, and to which the gateway
   * does.
   */
  readonly grpc_same: number
  readonly full_same: number
}
export type FoundBy = Readonly<Record<Selectivity['name'], Found>>

const FULL_OF_RAW_MIN = 0.3
const OWN_P50_MS_MAX = 2
const SERVICE_PARTS = ['gateway', 'jobs', 'Postgres', 'Redis', 'provider'] as const
const FILTERED_OF_UNFILTERED_MIN = 0.5
const RECALL_MIN = 0.98
const MANY_CLIENTS = 32
/** The CPU time of a search grows with the version; the bar is that of 100,000 passages. */
const SEARCH_CPU_PASSAGES_MAX = 100_000
const SEARCH_CPU_MS_MAX = 2.2
const OTHER_CPU_MS_MAX = 3

/** The thresholds of the throughput table. */
export function judgeCells(
  cells: readonly Cell[],
  found: FoundBy,
  ledger: LedgerState,
  delivered: number,
  passages: number,
): readonly Threshold[] {
  const crowded = cells.filter((cell) => cell.clients === MANY_CLIENTS)
  return [
    ...crowded.map(fullOfRaw),
    ownShare(cells),
    ...cpuOfRequest(crowded, passages),
    ...filteredOfUnfiltered(crowded),
    recallEverywhere(found),
    sameEverywhere(found),
    settled(ledger, delivered),
    unfailing(cells),
  ]
}

function fullOfRaw({ selectivity, clients, paths }: Cell): Threshold {
  return atLeast(
    `full path of the raw hybrid search, ${selectivity}, ${clients} clients`,
    FULL_OF_RAW_MIN,
    ratio(paths.full.per_second, paths.raw.per_second),
    2,
  )
}

function ownShare(cells: readonly Cell[]): Threshold {
  const own = Math.max(...cells.filter((cell) => cell.clients === 1).map((cell) => cell.gateway.own_p50_ms))
  return atMost("gateway's own share at p50, 1 client", OWN_P50_MS_MAX, own, 'ms', 2)
}

/** What a request costs, without the load generator; nothing where the system does not report it. */
function cpuOfRequest([unfiltered]: readonly Cell[], passages: number): readonly Threshold[] {
  const cpu = unfiltered?.gateway.cpu_ms
  if (unfiltered === undefined || cpu === undefined || cpu === null) return []
  const search = cpu['search node'] ?? 0
  const others = SERVICE_PARTS.reduce((sum, part) => sum + (cpu[part] ?? 0), 0)
  const about = `${unfiltered.selectivity}, ${unfiltered.clients} clients`
  const ofSearch = atMost(`CPU of a request in the search node, ${about}`, SEARCH_CPU_MS_MAX, search, 'ms', 2)
  const ofOthers = atMost(`CPU of a request in all else, ${about}`, OTHER_CPU_MS_MAX, others, 'ms', 2)
  return passages <= SEARCH_CPU_PASSAGES_MAX ? [ofSearch, ofOthers] : [ofOthers]
}

function filteredOfUnfiltered(crowded: readonly Cell[]): readonly Threshold[] {
  const [unfiltered, ...filtered] = crowded
  return filtered.map(({ selectivity, clients, paths }) =>
    atLeast(
      `filtered of unfiltered, ${selectivity}, ${clients} clients`,
      FILTERED_OF_UNFILTERED_MIN,
      ratio(paths.full.per_second, unfiltered?.paths.full.per_second ?? 0),
      2,
    ),
  )
}

function recallEverywhere(found: FoundBy): Threshold {
  const lowest = Math.min(
    ...Object.values(found).flatMap(({ recall_at_5, recall_at_10 }) => [recall_at_5, recall_at_10]),
  )
  return atLeast('recall@5 and @10 of the vectors, every filter of the table', RECALL_MIN, lowest, 3)
}

function sameEverywhere(found: FoundBy): Threshold {
  const lowest = Math.min(...Object.values(found).flatMap(({ grpc_same, full_same }) => [grpc_same, full_same]))
  return atLeast('the same lists on every path', 1, lowest, 3)
}

function settled(state: LedgerState, delivered: number): Threshold {
  const { reservations, open, entries, charged } = state
  return {
    name: 'every request has its ledger entry',
    wanted: `${delivered} charged, none open`,
    measured: `${reservations} reservations, ${open} open, ${entries} entries, ${charged} charged`,
    met: isSettled(state) && state.delivered === delivered && charged === delivered,
  }
}

function unfailing(cells: readonly Cell[]): Threshold {
  const failed = cells.flatMap((cell) => Object.values(cell.paths)).reduce((sum, path) => sum + path.failed, 0)
  const failure = cells.flatMap((cell) => Object.values(cell.paths)).find((path) => path.failure !== null)?.failure
  return {
    name: 'no request failed',
    wanted: '0',
    measured: failure === undefined ? String(failed) : `${failed} (${failure})`,
    met: failed === 0,
  }
}

export function atLeast(name: string, least: number, measured: number, digits: number): Threshold {
  return { name, wanted: `≥ ${least}`, measured: measured.toFixed(digits), met: measured >= least }
}

/** What was not measured, 0 or not a number, is not met. */
export function atMost(name: string, most: number, measured: number, unit: string, digits: number): Threshold {
  return {
    name,
    wanted: `≤ ${most} ${unit}`,
    measured: `${measured.toFixed(digits)} ${unit}`,
    met: measured > 0 && measured <= most,
  }
}

export function ratio(a: number, b: number): number {
  return b === 0 ? 0 : a / b
}
