import { SAMPLE, SELECTIVITIES, onSubject } from './corpus.ts'
import type { Task } from './exact.ts'
import { askedOf, type BenchCorpus } from './source.ts'

const QUESTIONS = 1_000
/** Questions that are compared with the exact answer under each filter; fewer where speed is not measured. */
const COMPARED = 200
const FEW_PASSAGES = 5_000
const COMPARED_OF_FEW = 25

export type Tasks = ReturnType<typeof inventTasks>

/** The questions of the benchmark, under every filter. */
export function inventTasks(corpus: BenchCorpus, seed: number) {
  const queries = askedOf(corpus, seed, { count: QUESTIONS, set: 0 })
  return {
    queries,
    /** The filters of the throughput table. */
    cells: SELECTIVITIES.map((selectivity) => ({
      name: selectivity.name,
      filters: selectivity.pinned,
      queries,
      selectivity,
    })),
    /** A filter that keeps few passages, at random. */
    narrowest: { name: `random ${SAMPLE.share * 100} %`, filters: onSubject(SAMPLE.subject), queries },
    /** So many of each task's questions are compared with the exact answer. */
    compared: corpus.passages < FEW_PASSAGES ? COMPARED_OF_FEW : COMPARED,
  }
}

/** The questions of a task that are compared. */
export function compared<T extends Task>(of: T, { compared: count }: Tasks): T {
  return { ...of, queries: of.queries.slice(0, count) }
}
