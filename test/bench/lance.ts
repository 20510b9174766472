import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'
import { startService } from '#operator/demo/local/processes.ts'
import type { Steps } from '#operator/demo/steps.ts'
import { freePort } from '#operator/demo/local/supervised-process.ts'
import type { BenchArtifact } from './artifact.ts'
import { atLeast, ratio } from './thresholds.ts'
import type { Threshold, FoundBy } from './thresholds.ts'
import { cpuBetween, cpuTimes, ownCpuMs } from './cpu.ts'
import { openConnection } from './connection.ts'
import type { Connection } from './connection.ts'
import type { Selectivity } from './corpus.ts'
import { recallAt } from './exact.ts'
import type { Exact } from './exact.ts'
import { drive, during, percentile } from './load.ts'
import type { Load } from './load.ts'
import type { Query } from './source.ts'
import { TOP_K } from './paths.ts'
import type { MeasuredPath } from './paths.ts'
import { aligned } from './table.ts'
import { compared } from './tasks.ts'
import type { Tasks } from './tasks.ts'

/** The compared package. It is not a dependency of the project; only this measurement installs it. */
const PACKAGES = ['@lancedb/lancedb@0.39.0', 'apache-arrow@18.1.0'] as const
const CLIENTS = [8, 32] as const
const SLICES = 4
const WARM_UP_SHARE = 0.25
const BUILD_TIMEOUT_MS = 1_800_000
/** Times LanceDB's queries a second at 100,000 passages of 768 dimensions. */
const OF_LANCE_MIN: Readonly<Record<Selectivity['name'], number>> = { unfiltered: 1.2, '22 %': 1.6, '1.8 %': 1.4 }

interface Side {
  readonly per_second: number
  readonly p50_ms: number
  readonly p99_ms: number
  /**
   * CPU of all processes on the way and the load generator's, for one answer; null where the system does not report it.
   */
  readonly cpu_ms: number | null
  readonly failed: number
  readonly failure: string | null
}

export interface LanceCell {
  readonly selectivity: Selectivity['name']
  readonly clients: number
  readonly ours: Side
  readonly theirs: Side
  /** Of the vectors alone, against the exact answer. */
  readonly our_recall_at_5: number
  readonly their_recall_at_5: number
}

export interface LanceResult {
  readonly packages: readonly string[]
  readonly cells: readonly LanceCell[]
}

interface LanceOptions {
  readonly dataDir: string
  readonly artifact: BenchArtifact
  readonly full: MeasuredPath
  readonly tasks: Tasks
  readonly exact: Readonly<Record<string, Exact>>
  readonly found: FoundBy
  readonly seconds: number
}

/**
 * The same passages, questions and filters, asked of LanceDB's hybrid query behind a bare Fastify route, by turns with
 * the gateway.
 */
export async function measureLance(options: LanceOptions, steps: Steps): Promise<LanceResult> {
  const { tasks, exact, found } = options
  const modules = await steps.run('LanceDB', async () => installed(options.dataDir))
  const theirs = await steps.run("LanceDB's table and indices", () => startTheirs(options, modules, steps))
  const cells: LanceCell[] = []
  for (const task of tasks.cells) {
    const right = exact[task.name]
    if (right === undefined) throw new Error(`nothing exact of ${task.name}`)
    const rows: (readonly number[])[] = []
    for (const query of compared(task, tasks).queries) rows.push(await theirs.nearest(query, task.selectivity))
    for (const clients of CLIENTS) {
      const cell = await measureCell(options, theirs.path, task.selectivity, clients)
      cells.push({
        ...cell,
        our_recall_at_5: found[task.selectivity.name].recall_at_5,
        their_recall_at_5: recallAt(TOP_K, rows, right),
      })
      steps.note(
        `${task.name}, ${clients} clients: gateway ${cell.ours.per_second.toFixed(0)}, LanceDB ` +
          `${cell.theirs.per_second.toFixed(0)} q/s`,
      )
    }
  }
  return { packages: PACKAGES, cells }
}

async function measureCell(
  { full, tasks, seconds }: LanceOptions,
  theirs: MeasuredPath,
  selectivity: Selectivity,
  clients: number,
): Promise<Omit<LanceCell, 'our_recall_at_5' | 'their_recall_at_5'>> {
  const loads: { readonly ours: Measured[]; readonly theirs: Measured[] } = { ours: [], theirs: [] }
  const sliceMs = (seconds * 1_000) / SLICES
  for (let slice = 0; slice < SLICES; slice++) {
    for (const [path, into] of [[full, loads.ours] as const, [theirs, loads.theirs] as const]) {
      const load = {
        queries: tasks.queries,
        selectivity,
        clients,
        from: Math.floor((slice * tasks.queries.length) / SLICES),
      }
      await drive(path, { ...load, goesOn: during(sliceMs * WARM_UP_SHARE) })
      const before = cpuTimes()
      const measured = await drive(path, { ...load, goesOn: during(sliceMs) })
      const cpu = cpuBetween(before, cpuTimes())
      into.push({ ...measured, wayCpuMs: cpu === undefined ? undefined : ownCpuMs(cpu) })
    }
  }
  return { selectivity: selectivity.name, clients, ours: sideOf(loads.ours), theirs: sideOf(loads.theirs) }
}

interface Measured extends Load {
  /** Of every process on the way. */
  readonly wayCpuMs: number | undefined
}

function sideOf(loads: readonly Measured[]): Side {
  const sum = (value: (load: Measured) => number): number => loads.reduce((total, load) => total + value(load), 0)
  const latencies = loads.flatMap((load) => load.latenciesMs)
  return {
    per_second: sum((load) => load.answered) / (sum((load) => load.elapsedMs) / 1_000),
    p50_ms: percentile(latencies, 0.5),
    p99_ms: percentile(latencies, 0.99),
    cpu_ms: loads.some(({ wayCpuMs }) => wayCpuMs === undefined)
      ? null
      : sum((load) => load.wayCpuMs ?? 0) / Math.max(1, latencies.length),
    failed: sum((load) => load.failed),
    failure: loads.find((load) => load.failure !== undefined)?.failure ?? null,
  }
}

/** @returns the folder of packages. @throws Error with what to do where they cannot be installed. */
function installed(dataDir: string): string {
  const folder = join(dataDir, 'lancedb', PACKAGES.join('+').replaceAll('/', '-'))
  const modules = join(folder, 'node_modules')
  if (existsSync(join(modules, '@lancedb', 'lancedb', 'package.json')) && existsSync(join(folder, 'complete')))
    return modules
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{"private":true}\n')
  const { status } = spawnSync(
    'npm',
    ['install', '--no-save', '--no-audit', '--no-fund', '--loglevel=error', ...PACKAGES],
    {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'ignore'],
    },
  )
  if (status !== 0)
    throw new Error(
      `LanceDB cannot be installed: run "npm install ${PACKAGES.join(' ')}" in ${folder} to see why, ` +
        'or leave --lancedb out.',
    )
  writeFileSync(join(folder, 'complete'), '')
  return modules
}

interface Theirs {
  readonly path: MeasuredPath
  /** Rows that their vector index finds. */
  nearest(query: Query, selectivity: Selectivity): Promise<readonly number[]>
}

async function startTheirs({ dataDir, artifact, tasks }: LanceOptions, modules: string, steps: Steps): Promise<Theirs> {
  const questions = join(dataDir, 'lancedb', 'questions.json')
  writeFileSync(
    questions,
    JSON.stringify(
      tasks.queries.map(({ text, vector }) => ({ text, vector: Buffer.from(vector.buffer).toString('base64') })),
    ),
  )
  const port = await freePort()
  const service = await startService({
    name: 'LanceDB',
    script: fileURLToPath(new URL('./lance-server.ts', import.meta.url)),
    args: [modules, artifact.folder, join(dataDir, 'lancedb', artifact.versionId), questions, String(port)],
    // Otherwise it writes two warnings of its own for every search.
    environment: { RUST_LOG: 'error' },
    logFile: join(dataDir, 'logs', 'lancedb.log'),
    ready: async () => (await fetch(`http://127.0.0.1:${port}/ready`)).ok,
    startTimeoutMs: BUILD_TIMEOUT_MS,
  })
  steps.watch(service)
  const idle: Connection[] = []
  async function post(body: object): Promise<Buffer> {
    const json = JSON.stringify(body)
    const head = [
      'POST /search HTTP/1.1',
      'host: 127.0.0.1',
      'content-type: application/json',
      `content-length: ${Buffer.byteLength(json)}`,
    ]
    const connection = idle.pop() ?? (await openConnection('127.0.0.1', port, PLATFORM_BOUNDS.hardDeadlineMs))
    const reply = await connection.post(Buffer.from(`${head.join('\r\n')}\r\n\r\n${json}`))
    idle.push(connection)
    if (reply.status !== 200)
      throw new Error(`LanceDB's route answered ${reply.status}: ${reply.body.toString().slice(0, 300)}`)
    return reply.body
  }
  steps.onStop(async () => idle.forEach((connection) => connection.close()))
  return {
    path: {
      name: 'full',
      async ask({ text }, { asked }) {
        const body = await post({ query: text, top_k: TOP_K, ...(asked === undefined ? {} : { filters: asked }) })
        return { chunkIds: () => resultsOf(body).map(({ chunk_id }) => chunk_id) }
      },
      close: async () => undefined,
    },
    async nearest({ text }, { asked }) {
      return resultsOf(
        await post({
          query: text,
          top_k: TOP_K,
          vectors_alone: true,
          ...(asked === undefined ? {} : { filters: asked }),
        }),
      ).map(({ row }) => row)
    },
  }
}

function resultsOf(body: Buffer): readonly { readonly row: number; readonly chunk_id: string }[] {
  const { results } = JSON.parse(body.toString('utf8')) as { results: { row: number; chunk_id: string }[] }
  return results
}

export function judgeLance({ cells }: LanceResult): readonly Threshold[] {
  return cells.flatMap((cell) => [
    atLeast(
      `full path of LanceDB's hybrid query, ${cell.selectivity}, ${cell.clients} clients`,
      OF_LANCE_MIN[cell.selectivity],
      ratio(cell.ours.per_second, cell.theirs.per_second),
      2,
    ),
    atLeast(
      `recall@5 less LanceDB's, ${cell.selectivity}, ${cell.clients} clients`,
      0,
      cell.our_recall_at_5 - cell.their_recall_at_5,
      3,
    ),
  ])
}

export function renderLance({ cells }: LanceResult): string {
  const head = [
    'beside LanceDB',
    'clients',
    'gateway q/s',
    'LanceDB q/s',
    'ratio',
    'gateway p50',
    'p99',
    'CPU',
    'LanceDB p50',
    'p99',
    'CPU',
    'recall@5',
    "LanceDB's",
  ]
  const ms = (value: number | null): string => (value === null ? '?' : `${value.toFixed(1)} ms`)
  return aligned([
    head,
    ...cells.map((cell) => [
      cell.selectivity,
      String(cell.clients),
      cell.ours.per_second.toFixed(0),
      cell.theirs.per_second.toFixed(0),
      ratio(cell.ours.per_second, cell.theirs.per_second).toFixed(2),
      ms(cell.ours.p50_ms),
      ms(cell.ours.p99_ms),
      ms(cell.ours.cpu_ms),
      ms(cell.theirs.p50_ms),
      ms(cell.theirs.p99_ms),
      ms(cell.theirs.cpu_ms),
      cell.our_recall_at_5.toFixed(3),
      cell.their_recall_at_5.toFixed(3),
    ]),
  ])
}
