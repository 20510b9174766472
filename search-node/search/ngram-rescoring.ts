import { ngramScore } from '#core/index/ngrams/coverage.ts'
import type { VersionStatistics } from './interfaces.ts'

/** Weight of character n-grams beside words; see decision 0008. */
const NGRAM_WEIGHT = 0.4

/**
 * N-gram rescoring: returns the scores by words, with a share for character n-grams. A row without any word of the question stays at 0.
 * @param lexical scores of the rows by words. @param wanted other rows keep their score.
 */
export function withNgrams(
  { ngrams, rowNgrams, tokens }: Pick<VersionStatistics, 'ngrams' | 'rowNgrams' | 'tokens'>,
  text: string,
  rows: Uint32Array,
  lexical: Float64Array,
  wanted: (row: number) => boolean,
): Float64Array {
  const question = ngrams(text)
  return lexical.map((score, at) => {
    const row = rows[at] ?? 0
    if (score === 0 || !wanted(row)) return score
    const { start, end } = tokens.read(row, row)
    const length = (end(row) - start(row)) / Math.max(1, tokens.description.mean_length)
    return (1 - NGRAM_WEIGHT) * score + NGRAM_WEIGHT * ngramScore(question, rowNgrams(row, question.beginnings), length)
  })
}
