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
import type { CorpusShape, Selectivity } from './corpus.ts'
import type { BenchArtifact } from './artifact.ts'
import type { Task } from './exact.ts'
import { inventQueries } from './queries.ts'
import type { Query } from './queries.ts'
import type { Place } from './vectors/space.ts'

/** How a filter relates to the questions that are asked under it. */
export type Relation = 'none' | 'random' | 'keeps' | 'excludes'

export interface NarrowTask extends Task {
  readonly relation: Relation
  /** Percentage of all passages that the filter allows, nearly. */
  readonly percent: number
}

const QUESTIONS = 1_000
/** Questions that are compared with the exact answer under each filter; fewer where speed is not measured. */
const COMPARED = 200
const FEW_PASSAGES = 5_000
const COMPARED_OF_FEW = 25

export interface Tasks {
  /** All questions. */
  readonly queries: readonly Query[]
  /** Filters by selectivity, and by correlation with the question. */
  readonly narrow: readonly NarrowTask[]
  /** The filters of the throughput table. */
  readonly cells: readonly (Task & { readonly selectivity: Selectivity })[]
  /** So many of each task's questions are compared with the exact answer. */
  readonly compared: number
}

/** Every question of the benchmark, under every filter. */
export function inventTasks(shape: CorpusShape, artifact: BenchArtifact): Tasks {
  const [queries = [], ...byArea] = inventQueries(shape, artifact, [
    { count: QUESTIONS, set: 0 },
    ...AREA_PERCENTS.flatMap((percent, at) => [
      { count: COMPARED, set: 2 * at + 1, wanted: (place: Place) => isInArea(percent, place) },
      { count: COMPARED, set: 2 * at + 2, wanted: (place: Place) => !isInArea(percent, place) },
    ]),
  ])
  const random = SAMPLE_PERCENTS.map((percent) => task('random', percent, onSubject(sampleSubject(percent)), queries))
  const areas = AREA_PERCENTS.flatMap((percent, at) => {
    const filters = onSubject(areaSubject(percent))
    const [keeps = [], excludes = []] = byArea.slice(2 * at)
    return [task('keeps', percent, filters, keeps), task('excludes', percent, filters, excludes)]
  })
  return {
    queries,
    narrow: [task('none', 100, EVERYTHING, queries), ...random, ...areas],
    cells: SELECTIVITIES.map((selectivity) => ({
      name: selectivity.name,
      filters: selectivity.pinned,
      queries,
      selectivity,
    })),
    compared: shape.passages < FEW_PASSAGES ? COMPARED_OF_FEW : COMPARED,
  }
}

function task(relation: Relation, percent: number, filters: Task['filters'], queries: readonly Query[]): NarrowTask {
  return { name: `${relation} ${percent} %`, relation, percent, filters, queries }
}

/** The questions of a task that are compared. */
export function compared<T extends Task>(of: T, { compared: count }: Tasks): T {
  return { ...of, queries: of.queries.slice(0, count) }
}
