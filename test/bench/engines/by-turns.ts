import { percentile, sumOf } from '#test/bench/load.ts'
import type { Task } from '#test/bench/exact.ts'
import type { RawSearch } from '#test/bench/paths.ts'

/** Time of a hybrid search on one thread while another thread searches too. */
export interface Latency {
  readonly searches: number
  readonly p50_ms: number
  readonly p95_ms: number
  /** Of a search, with its transfer to the thread and back, and of the cluster that it asks. */
  readonly cpu_ms: number
}

/** Searches under way at a time. */
const CONCURRENT = 2
const LIMIT = 10
const WARM_UP_SHARE = 0.25
const TURNS = 4
export const NOTHING: Latency = { searches: 0, p50_ms: 0, p95_ms: 0, cpu_ms: 0 }

export interface Line {
  readonly raw: RawSearch
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
      cpu_ms: sumOf(of, ({ cpuMs }) => cpuMs) / Math.max(1, latencies.length),
    }
  })
}

async function timed({ raw, task: { queries, filters } }: Line, ms: number, turn: number): Promise<Turn> {
  let next = Math.floor((turn * queries.length) / TURNS)
  async function client(until: number, latenciesMs: number[]): Promise<void> {
    for (let at = performance.now(); at < until;) {
      const query = queries[next++ % queries.length]
      if (query === undefined) return
      await raw.search(query, { mode: 'hybrid', filters, limit: LIMIT })
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
