import type { Threshold, FoundBy } from './thresholds.ts'
import type { Cell } from './measure.ts'

const OTHERS_CORES_MAX = 0.1

export const CELL_HEAD = [
  'selectivity',
  'clients',
  'raw q/s',
  'dense q/s',
  'gRPC q/s',
  'full q/s',
  'full/raw',
  'full/dense',
  'full p50',
  'full p99',
  'own p50',
  'recall@5 / @10',
  'settled after',
]

export function rowOf(cell: Cell, found: FoundBy): readonly string[] {
  const { raw, dense, grpc, full } = cell.paths
  const { recall_at_5, recall_at_10 } = found[cell.selectivity]
  return [
    cell.selectivity,
    String(cell.clients),
    raw.per_second.toFixed(0),
    dense.per_second.toFixed(0),
    grpc.per_second.toFixed(0),
    full.per_second.toFixed(0),
    (full.per_second / raw.per_second).toFixed(2),
    (full.per_second / dense.per_second).toFixed(2),
    `${full.p50_ms.toFixed(1)} ms`,
    `${full.p99_ms.toFixed(1)} ms`,
    `${cell.gateway.own_p50_ms.toFixed(2)} ms`,
    `${recall_at_5.toFixed(3)} / ${recall_at_10.toFixed(3)}`,
    `${cell.gateway.settled_after_ms.toFixed(0)} ms`,
  ]
}

/** One cell on one line, while the rest is being measured. */
export function renderCell({ selectivity, clients, paths }: Cell): string {
  const { raw, dense, grpc, full } = paths
  return (
    `${selectivity}, ${clients} client(s): raw ${raw.per_second.toFixed(0)}, dense alone ` +
    `${dense.per_second.toFixed(0)}, gRPC ${grpc.per_second.toFixed(0)}, full ` +
    `${full.per_second.toFixed(0)} q/s`
  )
}

export function renderTable(cells: readonly Cell[], found: FoundBy): string {
  return aligned([CELL_HEAD, ...cells.map((cell) => rowOf(cell, found))])
}

/** Where a request's time goes with one client, and the processors' time with most. */
export function renderShares(cells: readonly Cell[]): string {
  const [alone] = cells.filter((cell) => cell.clients === 1)
  const crowded = cells.filter((cell) => cell.selectivity === 'unfiltered').at(-1)
  const lines: string[] = []
  if (alone !== undefined) lines.push(`One client, unfiltered, mean ms a request: ${shares(alone.gateway.mean_ms)}`)
  if (crowded !== undefined && crowded.gateway.cpu_ms !== null)
    lines.push(
      `${crowded.clients} clients, unfiltered, CPU ms a request: ${shares(crowded.gateway.cpu_ms)}`,
      rawShare(cells),
      othersShare(cells),
    )
  return lines.join('\n')
}

/** The ratio of full to raw by CPU time, which other programs affect less than wall-clock time. */
function rawShare(cells: readonly Cell[]): string {
  const most = Math.max(...cells.map(({ clients }) => clients))
  const parts = cells
    .filter(({ clients, gateway }) => clients === most && gateway.cpu_ms !== null)
    .map(({ selectivity, paths, gateway }) => {
      const full = Object.entries(gateway.cpu_ms ?? {}).reduce(
        (sum, [part, ms]) => (part === 'others' ? sum : sum + ms),
        0,
      )
      return (
        `${selectivity} ${paths.raw.cpu_ms.toFixed(2)} of ${full.toFixed(2)} ` +
        `(${(paths.raw.cpu_ms / full).toFixed(2)})`
      )
    })
  return `CPU ms of the raw hybrid search, of those of a request by the full path, ${most} clients: ${parts.join(', ')}`
}

/** Other load affects raw and full differently; such a measurement should be repeated. */
function othersShare(cells: readonly Cell[]): string {
  const cores = cells.map(({ gateway, paths }) => ((gateway.cpu_ms?.['others'] ?? 0) * paths.full.per_second) / 1_000)
  const mean = cores.reduce((sum, value) => sum + value, 0) / cores.length
  return (
    `Other programs took ${Math.max(0, mean).toFixed(2)} cores ` +
    `meanwhile${mean > OTHERS_CORES_MAX ? ': measure again when the machine is idle.' : '.'}`
  )
}

function shares(ms: Readonly<Record<string, number>>): string {
  return Object.entries(ms)
    .filter(([, value]) => value !== 0)
    .map(([name, value]) => `${name} ${value.toFixed(2)}`)
    .join(', ')
}

export function renderThresholds(thresholds: readonly Threshold[]): string {
  return aligned(
    thresholds.map((threshold) => [
      threshold.met ? 'pass' : 'MISS',
      threshold.name,
      `wanted ${threshold.wanted}`,
      `measured ${threshold.measured}`,
    ]),
  )
}

export function aligned(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows
    .map((row) =>
      row
        .map((text, column) => text.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
