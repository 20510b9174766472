import type { PassageRecord } from '#core/index/passages/record.ts'
import type { ActEntry } from '#core/index/references/layout.ts'
import { ACTS, inventedPassages } from './corpus.ts'
import type { CorpusShape, Neighbourhood, PassageTraits } from './corpus.ts'
import { JURISDICTIONS, LANGUAGES, topicCount } from './documents.ts'
import { streamAt } from './stream.ts'
import { inventedQuestion } from './text.ts'
import { openSpace } from './vectors/space.ts'

/** A question and its vector, which the provider returns for its text. */
export interface Query {
  readonly text: string
  /** Of unit length, in a buffer of its own. */
  readonly vector: Float32Array<ArrayBuffer>
}

export interface BenchPassage extends PassageTraits {
  readonly row: number
  readonly position: Neighbourhood
  /** Makes the text, which takes longer than all the rest. */
  record(): PassageRecord
  vector(): Float32Array<ArrayBuffer>
  /** A question on it; another number gives another one. */
  question(number: number): Query
}

/** A set of questions: another number gives other ones. */
export interface QuerySet {
  readonly count: number
  readonly set: number
  /** Of the passage that is asked about. */
  readonly wanted?: (position: Neighbourhood) => boolean
}

/** What a benchmark searches, and what it asks. */
export interface BenchCorpus {
  /** Equal for equal passages, vectors and questions only. */
  readonly parameters: readonly string[]
  readonly passages: number
  readonly dimensions: number
  readonly acts: readonly ActEntry[]
  /** In row order, made one by one. */
  rows(): Iterable<BenchPassage>
  /** Queries that measure the artifact, as a build makes them of openings; invented ones are drawn instead. */
  readonly openings?: readonly Float32Array[]
  /** @param sampled passages that the set wants, drawn at random; none where the corpus has none. */
  questions(of: QuerySet, sampled: readonly BenchPassage[]): readonly Query[]
}

/** Questions of one set are numbered from a multiple of this. */
const QUERIES_MAX = 100_000

/** A corpus of any size with generated texts and vectors. */
export function inventedCorpus(shape: CorpusShape, dimensions: number): BenchCorpus {
  const space = openSpace({
    dimensions,
    seed: shape.seed,
    topics: topicCount(shape.passages),
    languages: Object.values(LANGUAGES),
    jurisdictions: Object.values(JURISDICTIONS),
  })
  return {
    parameters: ['invented', String(shape.passages), String(dimensions), String(shape.seed)],
    passages: shape.passages,
    dimensions,
    acts: ACTS,
    *rows() {
      for (const passage of inventedPassages(shape))
        yield {
          ...passage,
          vector: () => space.passage(passage.position),
          question: (number) => ({
            text: inventedQuestion(
              passage.language,
              passage.record().text,
              streamAt(shape.seed, 'queries', passage.row, number),
            ),
            vector: space.question(passage.position, number),
          }),
        }
    },
    questions: ({ count, set }, sampled) => repeated(sampled, count, set),
  }
}

/** Questions on passages, several on each where there are fewer. */
export function repeated(sampled: readonly BenchPassage[], count: number, set: number): readonly Query[] {
  return Array.from({ length: sampled.length === 0 ? 0 : count }, (_, at) => at).flatMap((at) => {
    const question = sampled[at % sampled.length]?.question(set * QUERIES_MAX + at)
    return question === undefined ? [] : [question]
  })
}
