import type { Filters } from '#core/domain/search.ts'
import { recallAt } from './exact.ts'
import type { Exact, Task } from './exact.ts'
import { percentile } from './load.ts'
import type { Query } from './source.ts'
import type { Mode, RawSearch } from './paths.ts'
import type { NarrowTask, Relation } from './tasks.ts'

/** Time of a search on one thread while another thread searches too. */
export interface Latency {
  readonly searches: number
  readonly p50_ms: number
  readonly p95_ms: number
  readonly p99_ms: number
  /**
   * CPU time of a search including its transfer to the thread and back, and that of the cluster that it asks; less
   * affected by other programs than wall-clock time.
   */
  readonly cpu_ms: number
}

export interface NarrowResult {
  readonly name: string
  readonly relation: Relation
  readonly percent: number
  readonly allowed: number
  readonly hybrid: Latency
  readonly dense: Latency
  /** Of the median without a filter, measured by turns with this one. */
  readonly hybrid_ratio: number
  readonly dense_ratio: number
  /** Of the vectors against the exact answer, over so many questions. */
  readonly recall_at_10: number
  readonly compared: number
}

export interface InsideResult {
  readonly lexical: Latency
  readonly dense: Latency
  readonly hybrid: Latency
  readonly narrow: readonly NarrowResult[]
  /** Filters that allow nothing that could be asked about. */
  readonly unasked: readonly string[]
}

/** Searches under way at a time. */
const CONCURRENT = 2
const LIMIT = 10
const WARM_UP_SHARE = 0.25

export interface InsideOptions {
  readonly raw: RawSearch
  readonly tasks: readonly NarrowTask[]
  readonly compared: number
  readonly exact: Readonly<Record<string, Exact>>
  /** Twice the measured time of each line: there are many. */
  readonly seconds: number
}

export async function measureInside({ raw, tasks, compared, exact, seconds }: InsideOptions): Promise<InsideResult> {
  const [all] = tasks
  if (all === undefined) throw new Error('no questions')
  const lines = (...asked: readonly Omit<Line, 'raw'>[]): Promise<readonly Latency[]> =>
    byTurns(
      asked.map((line) => ({ raw, ...line })),
      (seconds * 1_000) / 2,
    )
  const { lexical, dense, hybrid } = await measureModes(raw, all, seconds)
  const narrow: NarrowResult[] = []
  const unasked: string[] = []
  for (const task of tasks) {
    const right = exact[task.name]
    if (right === undefined || task.queries.length === 0) {
      unasked.push(task.name)
      continue
    }
    const asked = task.queries.slice(0, compared)
    const recall = recallAt(LIMIT, await nearestRows(raw, asked, task.filters, LIMIT), right)
    const { name, relation, percent } = task
    const line = { name, relation, percent, allowed: right.allowed, recall_at_10: recall, compared: asked.length }
    narrow.push(
      task === all
        ? { ...line, hybrid, dense, hybrid_ratio: 1, dense_ratio: 1 }
        : { ...line, ...(await narrowed(lines, all, task)) },
    )
  }
  return { lexical, dense, hybrid, narrow, unasked }
}

/** Words, vectors and both by turns, after a warm-up. */
async function measureModes(raw: RawSearch, task: Task, seconds: number): Promise<Readonly<Record<Mode, Latency>>> {
  const ms = (seconds * 1_000) / 2
  await byTurns([{ raw, mode: 'hybrid', task }], ms)
  const modes = (['lexical', 'dense', 'hybrid'] as const).map((mode) => ({ raw, mode, task }))
  const [lexical = NOTHING, dense = NOTHING, hybrid = NOTHING] = await byTurns(modes, ms)
  return { lexical, dense, hybrid }
}

export interface Line {
  readonly raw: RawSearch
  readonly mode: Mode
  readonly task: Task
}

/** Alternates between filter and no filter, so that other load on the machine affects both. */
async function narrowed(
  lines: (...asked: readonly Omit<Line, 'raw'>[]) => Promise<readonly Latency[]>,
  all: Task,
  task: Task,
): Promise<Pick<NarrowResult, 'hybrid' | 'dense' | 'hybrid_ratio' | 'dense_ratio'>> {
  const [freeHybrid = NOTHING, hybrid = NOTHING] = await lines({ mode: 'hybrid', task: all }, { mode: 'hybrid', task })
  const [freeDense = NOTHING, dense = NOTHING] = await lines({ mode: 'dense', task: all }, { mode: 'dense', task })
  return {
    hybrid,
    dense,
    hybrid_ratio: hybrid.p50_ms / freeHybrid.p50_ms,
    dense_ratio: dense.p50_ms / freeDense.p50_ms,
  }
}

const TURNS = 4
export const NOTHING: Latency = { searches: 0, p50_ms: 0, p95_ms: 0, p99_ms: 0, cpu_ms: 0 }

/** Each line a few times, one after the other. @param ms measured time of a line. */
export async function byTurns(lines: readonly Line[], ms: number): Promise<readonly Latency[]> {
  const turns = lines.map((): Turn[] => [])
  for (let turn = 0; turn < TURNS; turn++)
    for (const [at, line] of lines.entries()) turns[at]?.push(await timed(line, ms / TURNS, turn))
  return turns.map(latencyOf)
}

interface Turn {
  readonly latenciesMs: readonly number[]
  readonly cpuMs: number
}

function latencyOf(turns: readonly Turn[]): Latency {
  const latencies = turns.flatMap(({ latenciesMs }) => latenciesMs)
  const searches = latencies.length
  const cpuMs = turns.reduce((sum, turn) => sum + turn.cpuMs, 0)
  return {
    searches,
    p50_ms: percentile(latencies, 0.5),
    p95_ms: percentile(latencies, 0.95),
    p99_ms: percentile(latencies, 0.99),
    cpu_ms: cpuMs / Math.max(1, searches),
  }
}

async function timed({ raw, mode, task: { queries, filters } }: Line, ms: number, turn: number): Promise<Turn> {
  const latenciesMs: number[] = []
  let next = Math.floor((turn * queries.length) / TURNS)
  async function client(until: number, keep: boolean): Promise<void> {
    for (let at = performance.now(); at < until;) {
      const query = queries[next++ % queries.length]
      if (query === undefined) return
      await raw.search(query, { mode, filters, limit: LIMIT })
      const now = performance.now()
      if (keep) latenciesMs.push(now - at)
      at = now
    }
  }
  const clients = (until: number, keep: boolean): Promise<unknown> =>
    Promise.all(Array.from({ length: CONCURRENT }, () => client(until, keep)))
  await clients(performance.now() + ms * WARM_UP_SHARE, false)
  const cpuBeforeMs = raw.cpuMs()
  await clients(performance.now() + ms, true)
  return { latenciesMs, cpuMs: raw.cpuMs() - cpuBeforeMs }
}

/** What the vectors alone find. @returns rows for each question, best first. */
export async function nearestRows(
  raw: RawSearch,
  queries: readonly Query[],
  filters: Filters,
  limit: number,
): Promise<readonly (readonly number[])[]> {
  const found: (readonly number[])[] = []
  for (const query of queries)
    found.push((await raw.search(query, { mode: 'dense', filters, limit }))().passages.map(({ row }) => row))
  return found
}
