import type { ScoreParts } from '#core/domain/search.ts'
import type { Query } from './query.ts'
import { greatestShares } from './rescore.ts'
import { rescore } from './round.ts'
import type { Scored } from './select.ts'
import type { RowSet, VersionStatistics } from './statistics.ts'

/**
 * Scores the rows of a reply anew, without learned weights, and returns what the scores are made of.
 * @param visible rows that count as context. @param shown in the order of the reply.
 * @returns undefined without a lexical ranking.
 */
export function scorePartsOf(
  statistics: VersionStatistics,
  query: Query,
  visible: RowSet,
  shown: readonly Scored[],
): ScoreParts | undefined {
  const { question, vector } = query
  if (question === undefined) return undefined
  const rows = Uint32Array.from(shown, ({ row }) => row).sort()
  const rescored = rescore(statistics, question, visible, rows)
  const byVector = vector && statistics.vectorScores.of(statistics.cosines(rows, vector), vector)
  const placeOf = new Map(Array.from(rows, (row, place) => [row, place]))
  const places = shown.map(({ row }) => placeOf.get(row) ?? 0)
  const width = question.words.length
  return {
    words: question.words.map(({ word }) => word),
    shares: greatestShares(question),
    byWord: places.flatMap((place) => [...rescored.contributions.subarray(place * width, (place + 1) * width)]),
    byWords: places.map((place) => rescored.scores[place] ?? 0),
    byVector: byVector === undefined ? [] : places.map((place) => byVector[place] ?? 0),
  }
}
