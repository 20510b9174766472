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

/** How a filter relates to the questions that are asked under it. */
export type Relation = 'none' | 'random' | 'keeps' | 'excludes'

export interface NarrowTask extends Task {
  readonly relation: Relation
  /** Percentage of all passages that the filter allows, nearly. */
  readonly percent: number
}

const QUESTIONS = 1_000
const AREA_QUESTIONS = 200
/**
 * Questions compared with the exact answer under each filter; fewer where an exact answer is expensive and speed is not
 * measured.
 */
const COMPARED = [
  { upToPassages: 5_000, questions: 25 },
  { upToPassages: 300_000, questions: 200 },
  { upToPassages: Infinity, questions: 100 },
] as const

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
  const queries = inventQueries(shape, artifact, { count: QUESTIONS, set: 100 })
  const random = SAMPLE_PERCENTS.map((percent) => task('random', percent, onSubject(sampleSubject(percent)), queries))
  const areas = AREA_PERCENTS.flatMap((percent, at) => {
    const filters = onSubject(areaSubject(percent))
    const of = (set: number, wanted: (topic: number) => boolean): readonly Query[] =>
      inventQueries(shape, artifact, { count: AREA_QUESTIONS, set, wanted })
    return [
      task(
        'keeps',
        percent,
        filters,
        of(2_000 + at * 400, (topic) => isInArea(percent, topic)),
      ),
      task(
        'excludes',
        percent,
        filters,
        of(4_000 + at * 400, (topic) => !isInArea(percent, topic)),
      ),
    ]
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
    compared: COMPARED.find(({ upToPassages }) => shape.passages <= upToPassages)?.questions ?? 0,
  }
}

function task(relation: Relation, percent: number, filters: Task['filters'], queries: readonly Query[]): NarrowTask {
  return { name: `${relation} ${percent} %`, relation, percent, filters, queries }
}

/** The questions of a task that are compared. */
export function compared<T extends Task>(of: T, { compared: count }: Tasks): T {
  return { ...of, queries: of.queries.slice(0, count) }
}
