import type { Selectivity } from './corpus.ts'
import type { Query } from './source.ts'
import type { MeasuredPath } from './paths.ts'

/** Results of a number of clients that each ask one question after the other without a pause. */
export interface Load {
  readonly answered: number
  readonly failed: number
  /** The first failure's message. */
  readonly failure: string | undefined
  readonly elapsedMs: number
  /** Of every answer, unordered. */
  readonly latenciesMs: readonly number[]
}

export interface LoadOptions {
  readonly queries: readonly Query[]
  readonly selectivity: Selectivity
  readonly clients: number
  /** Asked before each question. @param elapsedMs since the load began. */
  readonly goesOn: (elapsedMs: number) => boolean
  /** Number of the first question: each slice goes on where another ended. */
  readonly from: number
}

export async function drive(
  path: Pick<MeasuredPath, 'ask'>,
  { queries, selectivity, clients, goesOn, from }: LoadOptions,
): Promise<Load> {
  const latenciesMs: number[] = []
  let next = from
  let failed = 0
  let failure: string | undefined
  const began = performance.now()
  async function client(): Promise<void> {
    for (let at = performance.now(); goesOn(at - began); at = performance.now()) {
      const query = queries[next++ % queries.length]
      if (query === undefined) throw new Error('there are no questions')
      try {
        await path.ask(query, selectivity)
        latenciesMs.push(performance.now() - at)
      } catch (error) {
        failed++
        failure ??= error instanceof Error ? error.message : 'an unknown failure'
      }
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  return { answered: latenciesMs.length, failed, failure, elapsedMs: performance.now() - began, latenciesMs }
}

/** Asks each of the questions once, a few at a time. @returns what was found, in their order. */
export async function askOnce(
  path: MeasuredPath,
  queries: readonly Query[],
  selectivity: Selectivity,
): Promise<readonly (readonly string[])[]> {
  const found: (readonly string[])[] = []
  const waiting = queries.entries()
  async function client(): Promise<void> {
    for (const [at, query] of waiting) found[at] = (await path.ask(query, selectivity)).chunkIds()
  }
  await Promise.all(Array.from({ length: 8 }, client))
  return found
}

/** For so long. */
export function during(ms: number): LoadOptions['goesOn'] {
  return (elapsedMs) => elapsedMs < ms
}

export function sumOf<T>(values: readonly T[], of: (value: T) => number): number {
  return values.reduce((sum, value) => sum + of(value), 0)
}

/** @param share 0.5 is the median. Nearest rank; 0 when there is nothing. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? 0
}
