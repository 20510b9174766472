import type { Selectivity } from './corpus.ts'
import type { LedgerState } from './ledger.ts'
import { isSettled } from './ledger.ts'
import type { Cell } from './measure.ts'
import type { RoadName } from './roads.ts'

/** What has to hold, and whether it did. */
export interface Bar {
  readonly name: string
  readonly wanted: string
  readonly measured: string
  readonly met: boolean
}

export type Recall = Readonly<Record<Selectivity['name'], Readonly<Record<RoadName, number>>>>

const FULL_OF_RAW_MIN = 0.2
const OWN_P50_MS_MAX = 2
const FILTERED_OF_UNFILTERED_MIN = 0.5
const RECALL_MIN = 0.98
const MANY_CLIENTS = 32

export function judge(cells: readonly Cell[], recall: Recall, ledger: LedgerState, delivered: number): readonly Bar[] {
  const crowded = cells.filter((cell) => cell.clients === MANY_CLIENTS)
  return [...crowded.map(fullOfRaw), ownShare(cells), ...filteredOfUnfiltered(crowded), recallEverywhere(recall), settled(ledger, delivered), unfailing(cells)]
}

function fullOfRaw({ selectivity, clients, roads }: Cell): Bar {
  const share = ratio(roads.full.per_second, roads.raw.per_second)
  return {
    name: `full path of raw, ${selectivity}, ${clients} clients`,
    wanted: `≥ ${FULL_OF_RAW_MIN}`,
    measured: share.toFixed(2),
    met: share >= FULL_OF_RAW_MIN,
  }
}

function ownShare(cells: readonly Cell[]): Bar {
  const own = Math.max(...cells.filter((cell) => cell.clients === 1).map((cell) => cell.gateway.own_p50_ms))
  return {
    name: "gateway's own share at p50, 1 client",
    wanted: `≤ ${OWN_P50_MS_MAX} ms`,
    measured: `${own.toFixed(2)} ms`,
    met: own > 0 && own <= OWN_P50_MS_MAX,
  }
}

function filteredOfUnfiltered(crowded: readonly Cell[]): readonly Bar[] {
  const [unfiltered, ...filtered] = crowded
  return filtered.map(({ selectivity, clients, roads }) => {
    const share = ratio(roads.full.per_second, unfiltered?.roads.full.per_second ?? 0)
    return {
      name: `filtered of unfiltered, ${selectivity}, ${clients} clients`,
      wanted: `≥ ${FILTERED_OF_UNFILTERED_MIN}`,
      measured: share.toFixed(2),
      met: share >= FILTERED_OF_UNFILTERED_MIN,
    }
  })
}

function recallEverywhere(recall: Recall): Bar {
  const lowest = Math.min(...Object.values(recall).flatMap((roads) => Object.values(roads)))
  return { name: 'recall@5 of every road and selectivity', wanted: `≥ ${RECALL_MIN}`, measured: lowest.toFixed(3), met: lowest >= RECALL_MIN }
}

function settled(state: LedgerState, delivered: number): Bar {
  const { reservations, open, entries, charged } = state
  return {
    name: 'every request has its ledger entry',
    wanted: `${delivered} charged, none open`,
    measured: `${reservations} reservations, ${open} open, ${entries} entries, ${charged} charged`,
    met: isSettled(state) && state.delivered === delivered && charged === delivered,
  }
}

function unfailing(cells: readonly Cell[]): Bar {
  const failed = cells.flatMap((cell) => Object.values(cell.roads)).reduce((sum, road) => sum + road.failed, 0)
  const failure = cells.flatMap((cell) => Object.values(cell.roads)).find((road) => road.failure !== null)?.failure
  return { name: 'no request failed', wanted: '0', measured: failure === undefined ? String(failed) : `${failed} (${failure})`, met: failed === 0 }
}

function ratio(a: number, b: number): number {
  return b === 0 ? 0 : a / b
}
