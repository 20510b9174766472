import type { Filters } from '#core/rpc/search-node.ts'
import { recallAt } from './exact.ts'
import type { Exact, Task } from './exact.ts'
import { percentile } from './load.ts'
import type { Query } from './queries.ts'
import type { Mode, RawSearch } from './roads.ts'
import type { NarrowTask, Relation } from './tasks.ts'

/** What a search thread takes while another one searches too. */
export interface Latency {
  readonly searches: number
  readonly p50_ms: number
  readonly p99_ms: number
  /** CPU time of a search, its way to the thread and back included: says more than the clock where other programs run too. */
  readonly cpu_ms: number
}

export interface NarrowResult {
  readonly name: string
  readonly relation: Relation
  readonly percent: number
  readonly allowed: number
  readonly hybrid: Latency
  readonly dense: Latency
  /** Of the median without a filter. */
  readonly hybrid_ratio: number
  readonly dense_ratio: number
  /** Of the vectors against the exact answer. */
  readonly recall_at_10: number
}

export interface InsideResult {
  readonly lexical: Latency
  readonly dense: Latency
  readonly hybrid: Latency
  readonly narrow: readonly NarrowResult[]
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
  /** Measured time of each line. */
  readonly seconds: number
}

export async function measureInside({ raw, tasks, compared, exact, seconds }: InsideOptions): Promise<InsideResult> {
  const [all] = tasks
  if (all === undefined) throw new Error('no questions')
  const time = (mode: Mode, task: Task): Promise<Latency> => timed(raw, mode, task, seconds * 1_000)
  for (const mode of ['lexical', 'dense', 'hybrid'] as const) await time(mode, all)
  const result = { lexical: await time('lexical', all), dense: await time('dense', all), hybrid: await time('hybrid', all) }
  const narrow: NarrowResult[] = []
  for (const task of tasks) {
    const right = exact[task.name]
    if (right === undefined || task.queries.length === 0) continue
    const hybrid = task === all ? result.hybrid : await time('hybrid', task)
    const dense = task === all ? result.dense : await time('dense', task)
    const recall = recallAt(LIMIT, await nearestRows(raw, task.queries.slice(0, compared), task.filters, LIMIT), right)
    narrow.push({
      name: task.name,
      relation: task.relation,
      percent: task.percent,
      allowed: right.allowed,
      hybrid,
      dense,
      hybrid_ratio: hybrid.p50_ms / result.hybrid.p50_ms,
      dense_ratio: dense.p50_ms / result.dense.p50_ms,
      recall_at_10: recall,
    })
  }
  return { ...result, narrow }
}

async function timed(raw: RawSearch, mode: Mode, { queries, filters }: Task, ms: number): Promise<Latency> {
  const latencies: number[] = []
  let next = 0
  async function client(until: number, keep: boolean): Promise<void> {
    for (let at = performance.now(); at < until;) {
      const query = queries[next++ % queries.length]
      if (query === undefined) return
      await raw.search(query, { mode, filters, limit: LIMIT })
      const now = performance.now()
      if (keep) latencies.push(now - at)
      at = now
    }
  }
  const clients = (until: number, keep: boolean): Promise<unknown> => Promise.all(Array.from({ length: CONCURRENT }, () => client(until, keep)))
  await clients(performance.now() + ms * WARM_UP_SHARE, false)
  const cpuBefore = process.cpuUsage()
  await clients(performance.now() + ms, true)
  const { user, system } = process.cpuUsage(cpuBefore)
  const searches = latencies.length
  return { searches, p50_ms: percentile(latencies, 0.5), p99_ms: percentile(latencies, 0.99), cpu_ms: (user + system) / 1_000 / Math.max(1, searches) }
}

/** What the vectors alone find. @returns rows for each question, best first. */
export async function nearestRows(raw: RawSearch, queries: readonly Query[], filters: Filters, limit: number): Promise<readonly (readonly number[])[]> {
  const found: (readonly number[])[] = []
  for (const query of queries) found.push((await raw.search(query, { mode: 'dense', filters, limit }))().passages.map(({ row }) => row))
  return found
}
