import { cpuBetween, cpuTimes, CPU_PARTS } from './cpu.ts'
import type { CpuTimes } from './cpu.ts'
import { SELECTIVITIES } from './corpus.ts'
import type { Selectivity } from './corpus.ts'
import { logEnd, meanWaits, readRequests, readWaits } from './gateway-log.ts'
import type { Installation } from './installation.ts'
import { untilSettled } from './ledger.ts'
import { drive, during, percentile } from './load.ts'
import type { Load } from './load.ts'
import type { Query } from './source.ts'
import type { MeasuredPath, PathName } from './paths.ts'

const CLIENTS = [1, 8, 32] as const

/** One path under one load. */
export interface PathResult {
  readonly answered: number
  readonly failed: number
  readonly failure: string | null
  readonly per_second: number
  readonly p50_ms: number
  readonly p99_ms: number
  /** CPU milliseconds of an answer in the process that asks: of the whole search on the paths `raw` and `dense`. */
  readonly cpu_ms: number
}

/** What only the full path has. */
export interface GatewayResult {
  readonly own_p50_ms: number
  readonly own_p99_ms: number
  /** Mean milliseconds a request spent on the gateway itself (`own`) and awaiting each party. */
  readonly mean_ms: Readonly<Record<string, number>>
  /** From the last reply to the last ledger entry. */
  readonly settled_after_ms: number
  /** CPU milliseconds per request by part; null where the system does not report it. */
  readonly cpu_ms: Readonly<Record<string, number>> | null
}

export interface Cell {
  readonly selectivity: Selectivity['name']
  readonly clients: number
  readonly paths: Readonly<Record<PathName, PathResult>>
  readonly gateway: GatewayResult
}

export interface MeasureOptions {
  readonly installation: Installation
  readonly paths: readonly MeasuredPath[]
  readonly queries: readonly Query[]
  /** Measured time of each cell and path. */
  readonly seconds: number
  readonly onCell: (cell: Cell) => void
}

/** Paths alternate in slices, so that other load on the machine affects all of them. */
const SLICES = 4
/** A cell shorter than this is not divided into slices. */
const SLICED_FROM_SECONDS = 1
/**
 * Before each slice, as a share of it; and once before everything, with the most clients, as a share of a cell: V8
 * compiles for about 45 s of load, which costs a search 0.15 to 0.2 CPU milliseconds until then.
 */
const WARM_UP_SHARE = 0.1
const FIRST_WARM_UP_SHARE = 5

export async function warmUp({ paths, queries, seconds }: MeasureOptions): Promise<void> {
  const ms = (seconds * 1_000 * FIRST_WARM_UP_SHARE) / SELECTIVITIES.length
  for (const path of paths)
    for (const selectivity of SELECTIVITIES)
      await drive(path, { queries, selectivity, clients: Math.max(...CLIENTS), goesOn: during(ms), from: 0 })
}

export async function measureAll(options: MeasureOptions): Promise<readonly Cell[]> {
  const cells: Cell[] = []
  for (const selectivity of SELECTIVITIES) {
    for (const clients of CLIENTS) {
      const cell = await measureCell(options, selectivity, clients)
      cells.push(cell)
      options.onCell(cell)
    }
  }
  return cells
}

interface GatewaySlice {
  readonly ownMs: readonly number[]
  readonly meanMs: Readonly<Record<string, number>>
  readonly settledMs: number
  readonly cpu: CpuTimes | undefined
}

async function measureCell(options: MeasureOptions, selectivity: Selectivity, clients: number): Promise<Cell> {
  const { queries, seconds, paths, installation } = options
  const loads: Record<PathName, Load[]> = { raw: [], dense: [], grpc: [], full: [] }
  const slices: GatewaySlice[] = []
  const sliceCount = seconds < SLICED_FROM_SECONDS ? 1 : SLICES
  const sliceMs = (seconds * 1_000) / sliceCount
  for (let slice = 0; slice < sliceCount; slice++) {
    for (const path of paths) {
      const load = { queries, selectivity, clients, from: Math.floor((slice * queries.length) / sliceCount) }
      await drive(path, { ...load, goesOn: during(sliceMs * WARM_UP_SHARE) })
      const measured = (): Promise<Load> => drive(path, { ...load, goesOn: during(sliceMs) })
      if (path.name === 'full')
        slices.push(await observed(installation, async () => void loads.full.push(await measured())))
      else loads[path.name].push(await measured())
    }
  }
  const resultOf = (name: PathName): PathResult => pathResult(loads[name])
  const measured = { raw: resultOf('raw'), dense: resultOf('dense'), grpc: resultOf('grpc'), full: resultOf('full') }
  return {
    selectivity: selectivity.name,
    clients,
    paths: measured,
    gateway: gatewayResult(slices, measured.full.answered),
  }
}

/** One slice of the full path with what the gateway's log, its metrics, the ledger and the system say about it. */
async function observed({ gateway, owner }: Installation, slice: () => Promise<void>): Promise<GatewaySlice> {
  await untilSettled(owner)
  const [waitsBefore, logFrom, cpuBefore] = [await readWaits(gateway.internalUrl), logEnd(gateway.logFile), cpuTimes()]
  await slice()
  const logTo = logEnd(gateway.logFile)
  const { ms: settledMs } = await untilSettled(owner)
  const cpu = cpuBetween(cpuBefore, cpuTimes())
  const waitsAfter = await readWaits(gateway.internalUrl)
  return {
    ownMs: readRequests(gateway.logFile, logFrom, logTo).map(({ own_ms }) => own_ms),
    meanMs: meanWaits(waitsBefore, waitsAfter),
    settledMs,
    cpu,
  }
}

function pathResult(loads: readonly Load[]): PathResult {
  const sum = (value: (load: Load) => number): number => loads.reduce((total, load) => total + value(load), 0)
  const latencies = loads.flatMap((load) => load.latenciesMs)
  return {
    answered: sum((load) => load.answered),
    failed: sum((load) => load.failed),
    failure: loads.find((load) => load.failure !== undefined)?.failure ?? null,
    per_second: sum((load) => load.answered) / (sum((load) => load.elapsedMs) / 1_000),
    p50_ms: percentile(latencies, 0.5),
    p99_ms: percentile(latencies, 0.99),
    cpu_ms:
      sum((load) => load.cpuMs) /
      Math.max(
        1,
        sum((load) => load.answered),
      ),
  }
}

function gatewayResult(slices: readonly GatewaySlice[], answered: number): GatewayResult {
  const ownMs = slices.flatMap((slice) => slice.ownMs)
  const mean = (values: readonly number[]): number =>
    values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length)
  const parties = Object.keys(slices[0]?.meanMs ?? {})
  const cpu = slices.flatMap((slice) => slice.cpu ?? [])
  return {
    own_p50_ms: percentile(ownMs, 0.5),
    own_p99_ms: percentile(ownMs, 0.99),
    mean_ms: Object.fromEntries(parties.map((party) => [party, mean(slices.map((slice) => slice.meanMs[party] ?? 0))])),
    settled_after_ms: Math.max(...slices.map((slice) => slice.settledMs)),
    cpu_ms:
      cpu.length === 0
        ? null
        : Object.fromEntries(
            CPU_PARTS.map((part) => [part, cpu.reduce((sum, times) => sum + times[part], 0) / Math.max(1, answered)]),
          ),
  }
}
