import type { SearchQuery } from '#core/domain/search.ts'
import type { SearchScope } from './candidates/source.ts'
import type { Question } from './question.ts'
import type { VersionStatistics } from './statistics.ts'

/** A query as a scoring thread receives it, with its vector in a buffer of its own. */
export type SearchInput = Omit<SearchQuery, 'versionId'>

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
  const { text, filters, onlyRows, withdrawn = [], ranking } = input
  return {
    input,
    scope: { filters, onlyRows, withdrawn, collapseRevisionsOn: ranking.collapseRevisionsOn },
    question: text.trim() === '' ? undefined : statistics.question(text, filters.languages),
    vector: input.vector === undefined ? undefined : unit(input.vector),
  }
}

/** Loops over positions, because `map` and `for of` create an object for each value. */
function unit(vector: Float32Array): Float32Array {
  let squares = 0
  for (let at = 0; at < vector.length; at++) squares += (vector[at] ?? 0) * (vector[at] ?? 0)
  const scale = 1 / Math.sqrt(squares)
  const scaled = new Float32Array(vector.length)
  for (let at = 0; at < vector.length; at++) scaled[at] = (vector[at] ?? 0) * scale
  return scaled
}
