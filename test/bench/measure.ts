import { cpuBetween, cpuOfEach, cpuTimes, type CpuTimes } from './cpu.ts'
import { SELECTIVITIES, type Selectivity } from './corpus.ts'
import { logEnd, readRequests } from './gateway-log.ts'
import type { Installation } from './installation.ts'
import { untilSettled } from './ledger.ts'
import { drive, during, percentile, sumOf, type Load, type LoadOptions } from './load.ts'
import type { Query } from './source.ts'
import type { MeasuredPath, PathName } from './paths.ts'

const CLIENTS = [1, 8, 32] as const

export type Cell = Awaited<ReturnType<typeof measureCell>>

/** One cell on one line, while the rest is being measured. */
export function renderCell({ selectivity, clients, paths }: Cell): string {
  const rates = Object.entries(paths).map(([name, path]) => `${name} ${path?.per_second.toFixed(0) ?? '–'}`)
  return `${selectivity}, ${clients} client(s): ${rates.join(', ')} q/s`
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
const FIRST_WARM_UP_SHARE = 12

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

/** What the load generator, the gateway's log, the ledger and the system say about a slice of one path. */
interface Slice extends Load {
  readonly ownMs: readonly number[]
  readonly settledMs: number
  readonly cpu: CpuTimes
}

/** All paths under one load. */
async function measureCell(options: MeasureOptions, selectivity: Selectivity, clients: number) {
  const { queries, seconds, paths, installation } = options
  const slices: Record<PathName, Slice[]> = { raw: [], dense: [], grpc: [], full: [], lance: [] }
  const sliceCount = seconds < SLICED_FROM_SECONDS ? 1 : SLICES
  const sliceMs = (seconds * 1_000) / sliceCount
  for (let slice = 0; slice < sliceCount; slice++) {
    for (const path of paths) {
      const load = { queries, selectivity, clients, from: Math.floor((slice * queries.length) / sliceCount) }
      await drive(path, { ...load, goesOn: during(sliceMs * WARM_UP_SHARE) })
      slices[path.name].push(await observed(installation, path, { ...load, goesOn: during(sliceMs) }))
    }
  }
  const [raw, dense, grpc, full] = [slices.raw, slices.dense, slices.grpc, slices.full].map(pathResult)
  if (raw === undefined || dense === undefined || grpc === undefined || full === undefined)
    throw new Error('a path is missing')
  const lance = slices.lance.length === 0 ? undefined : pathResult(slices.lance)
  const gateway = gatewayResult(slices.full)
  return { selectivity: selectivity.name, clients, paths: { raw, dense, grpc, full, lance }, gateway }
}

async function observed({ gateway, owner }: Installation, path: MeasuredPath, load: LoadOptions): Promise<Slice> {
  await untilSettled(owner)
  const [logFrom, cpuBefore] = [logEnd(gateway.logFile), cpuTimes()]
  const driven = await drive(path, load)
  const { ms: settledMs } = await untilSettled(owner)
  const cpu = cpuBetween(cpuBefore, cpuTimes())
  return {
    ...driven,
    ownMs: readRequests(gateway.logFile, logFrom, logEnd(gateway.logFile)).map(({ own_ms }) => own_ms),
    settledMs,
    cpu,
  }
}

function pathResult(slices: readonly Slice[]) {
  const latencies = slices.flatMap(({ latenciesMs }) => latenciesMs)
  const answered = latencies.length
  return {
    answered,
    failed: sumOf(slices, ({ failed }) => failed),
    failure: slices.find(({ failure }) => failure !== undefined)?.failure ?? null,
    per_second: answered / (sumOf(slices, ({ elapsedMs }) => elapsedMs) / 1_000),
    p50_ms: percentile(latencies, 0.5),
    p99_ms: percentile(latencies, 0.99),
    /** Of an answer, by part. The search threads of the paths `raw` and `dense` belong to the load generator. */
    cpu_ms: cpuOfEach(
      slices.map(({ cpu }) => cpu),
      answered,
    ),
  }
}

/** What only the full path has. */
function gatewayResult(slices: readonly Slice[]) {
  const ownMs = slices.flatMap((slice) => slice.ownMs)
  return {
    own_p50_ms: percentile(ownMs, 0.5),
    own_p99_ms: percentile(ownMs, 0.99),
    /** From the last reply to the last ledger entry. */
    settled_after_ms: Math.max(...slices.map(({ settledMs }) => settledMs)),
  }
}
