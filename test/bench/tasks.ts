import {
  AREA_PERCENTS,
  EVERYTHING,
  SAMPLE_PERCENTS,
  SELECTIVITIES,
  areaSubject,
  isInArea,
  onSubject,
  sampleSubject,
} from './corpus.ts'
import type { Neighbourhood } from './corpus.ts'
import type { Task } from './exact.ts'
import { askSets } from './queries.ts'
import type { BenchCorpus, Query } from './source.ts'

/**
 * How a filter relates to the questions that are asked under it. It keeps rows at random; the neighbourhood of what is
 * asked about (`near`); or other neighbourhoods (`far`).
 */
export type Relation = 'none' | 'random' | 'near' | 'far'

export interface NarrowTask extends Task {
  readonly relation: Relation
}

const QUESTIONS = 1_000
/** Questions that are compared with the exact answer under each filter; fewer where speed is not measured. */
const COMPARED = 200
const FEW_PASSAGES = 5_000
const COMPARED_OF_FEW = 25

export type Tasks = ReturnType<typeof inventTasks>

/** Every question of the benchmark, under every filter. */
export function inventTasks(corpus: BenchCorpus, seed: number) {
  const [queries = [], ...byArea] = askSets(corpus, seed, [
    { count: QUESTIONS, set: 0 },
    ...AREA_PERCENTS.flatMap((percent, at) => [
      { count: COMPARED, set: 2 * at + 1, wanted: (position: Neighbourhood) => isInArea(percent, position) },
      { count: COMPARED, set: 2 * at + 2, wanted: (position: Neighbourhood) => !isInArea(percent, position) },
    ]),
  ])
  const random = SAMPLE_PERCENTS.map((percent) => task('random', percent, onSubject(sampleSubject(percent)), queries))
  const areas = AREA_PERCENTS.flatMap((percent, at) => {
    const filters = onSubject(areaSubject(percent))
    const [near = [], far = []] = byArea.slice(2 * at)
    return [task('near', percent, filters, near), task('far', percent, filters, far)]
  })
  return {
    queries,
    /** Filters by selectivity, and by correlation with the question. */
    narrow: [task('none', 100, EVERYTHING, queries), ...random, ...areas],
    /** The filters of the throughput table. */
    cells: SELECTIVITIES.map((selectivity) => ({
      name: selectivity.name,
      filters: selectivity.pinned,
      queries,
      selectivity,
    })),
    /** So many of each task's questions are compared with the exact answer. */
    compared: corpus.passages < FEW_PASSAGES ? COMPARED_OF_FEW : COMPARED,
  }
}

function task(relation: Relation, percent: number, filters: Task['filters'], queries: readonly Query[]): NarrowTask {
  return { name: `${relation} ${percent} %`, relation, filters, queries }
}

/** The questions of a task that are compared. */
export function compared<T extends Task>(of: T, { compared: count }: Tasks): T {
  return { ...of, queries: of.queries.slice(0, count) }
}
