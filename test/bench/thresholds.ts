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
const FILTERED_OF_UNFILTERED_MIN = 0.5
const RECALL_MIN = 0.98
const MANY_CLIENTS = 32

/** The thresholds of the throughput table. */
export function judgeCells(
  cells: readonly Cell[],
  found: FoundBy,
  ledger: LedgerState,
  delivered: number,
): readonly Threshold[] {
  const crowded = cells.filter((cell) => cell.clients === MANY_CLIENTS)
  return [
    ...crowded.map(fullOfRaw),
    ownShare(cells),
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
