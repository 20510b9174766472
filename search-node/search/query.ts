import type { SearchQuery } from '#core/domain/search.ts'
import type { SearchScope } from './candidates/source.ts'
import type { Question } from './question.ts'
import type { VersionStatistics } from './statistics.ts'

/** A query as a scoring thread receives it, with its vector in a buffer of its own. */
export type SearchInput = Omit<SearchQuery, 'projectionId'>

/** A query in the form that the stages share. */
export interface Query {
  readonly input: SearchInput
  readonly scope: SearchScope
  /** Undefined: no lexical ranking. */
  readonly question: Question | undefined
  /** Unit length. Undefined: no dense ranking. */
  readonly vector: Float32Array | undefined
}

export function queryOf(statistics: VersionStatistics, input: SearchInput): Query {
  const { text, filters, onlyRows, ranking } = input
  return {
    input,
    scope: { filters, onlyRows, collapseRevisionsOn: ranking.collapseRevisionsOn },
    question: text.trim() === '' ? undefined : statistics.question(text, filters.languages),
    vector: input.vector === undefined ? undefined : unit(input.vector),
  }
}

function unit(vector: Float32Array): Float32Array {
  let squares = 0
  for (const value of vector) squares += value * value
  const scale = 1 / Math.sqrt(squares)
  return vector.map((value) => value * scale)
}
