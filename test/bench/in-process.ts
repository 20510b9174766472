import type { Filters } from '#core/domain/search.ts'
import { recallAt } from './exact.ts'
import type { Exact, Task } from './exact.ts'
import { percentile, sumOf } from './load.ts'
import type { Query } from './source.ts'
import type { Mode, RawSearch } from './paths.ts'
import type { NarrowTask } from './tasks.ts'

/** Time of a search on one thread while another thread searches too. */
export interface Latency {
  readonly searches: number
  readonly p50_ms: number
  readonly p95_ms: number
  readonly p99_ms: number
  /** Of a search, with its transfer to the thread and back, and of the cluster that it asks. */
  readonly cpu_ms: number
}

/** Searches under way at a time. */
const CONCURRENT = 2
const LIMIT = 10
const WARM_UP_SHARE = 0.25
const TURNS = 4
export const NOTHING: Latency = { searches: 0, p50_ms: 0, p95_ms: 0, p99_ms: 0, cpu_ms: 0 }

export interface InsideOptions {
  readonly raw: RawSearch
  readonly tasks: readonly NarrowTask[]
  readonly compared: number
  readonly exact: Readonly<Record<string, Exact>>
  /** Twice the measured time of each line: there are many. */
  readonly seconds: number
}

/** By words, by vectors and by both without a filter, then under each filter. */
export async function measureInside({ raw, tasks, compared, exact, seconds }: InsideOptions) {
  const [all] = tasks
  if (all === undefined) throw new Error('no questions')
  const ms = (seconds * 1_000) / 2
  const line = (task: Task, mode: Mode = 'hybrid'): Line => ({ raw, mode, task })
  await byTurns([line(all)], ms)
  const modes = await byTurns([line(all, 'lexical'), line(all, 'dense'), line(all)], ms)
  const [lexical = NOTHING, dense = NOTHING, hybrid = NOTHING] = modes
  const narrow = []
  const unasked: string[] = []
  for (const task of tasks) {
    const right = exact[task.name]
    if (right === undefined || task.queries.length === 0) {
      unasked.push(task.name)
      continue
    }
    const asked = task.queries.slice(0, compared)
    const found = await nearestRows(raw, asked, task.filters, LIMIT)
    // By turns, so that other load on the machine affects both.
    const [free = NOTHING, filtered = NOTHING] = await byTurns([line(all), line(task)], ms)
    narrow.push({
      name: task.name,
      relation: task.relation,
      allowed: right.allowed,
      hybrid: filtered,
      /** Of the median without a filter. */
      ratio: filtered.p50_ms / free.p50_ms,
      /** Of the vectors against the exact answer, over so many questions. */
      recall_at_10: recallAt(LIMIT, found, right),
      compared: asked.length,
    })
  }
  /** `unasked`: filters that allow nothing that could be asked about. */
  return { lexical, dense, hybrid, narrow, unasked }
}

export interface Line {
  readonly raw: RawSearch
  readonly mode: Mode
  readonly task: Task
}

interface Turn {
  readonly latenciesMs: readonly number[]
  readonly cpuMs: number
}

/** Each line a few times, one after the other. @param ms measured time of a line. */
export async function byTurns(lines: readonly Line[], ms: number): Promise<readonly Latency[]> {
  const turns = lines.map((): Turn[] => [])
  for (let turn = 0; turn < TURNS; turn++)
    for (const [at, line] of lines.entries()) turns[at]?.push(await timed(line, ms / TURNS, turn))
  return turns.map((of) => {
    const latencies = of.flatMap(({ latenciesMs }) => latenciesMs)
    return {
      searches: latencies.length,
      p50_ms: percentile(latencies, 0.5),
      p95_ms: percentile(latencies, 0.95),
      p99_ms: percentile(latencies, 0.99),
      cpu_ms: sumOf(of, ({ cpuMs }) => cpuMs) / Math.max(1, latencies.length),
    }
  })
}

async function timed({ raw, mode, task: { queries, filters } }: Line, ms: number, turn: number): Promise<Turn> {
  let next = Math.floor((turn * queries.length) / TURNS)
  async function client(until: number, latenciesMs: number[]): Promise<void> {
    for (let at = performance.now(); at < until;) {
      const query = queries[next++ % queries.length]
      if (query === undefined) return
      await raw.search(query, { mode, filters, limit: LIMIT })
      const now = performance.now()
      latenciesMs.push(now - at)
      at = now
    }
  }
  const clients = async (lastMs: number): Promise<readonly number[]> => {
    const [until, latenciesMs] = [performance.now() + lastMs, new Array<number>()]
    await Promise.all(Array.from({ length: CONCURRENT }, () => client(until, latenciesMs)))
    return latenciesMs
  }
  await clients(ms * WARM_UP_SHARE)
  const cpuBeforeMs = raw.cpuMs()
  const latenciesMs = await clients(ms)
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
