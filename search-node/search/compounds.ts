import { primaryLanguage } from '#core/index/analysis/analyzer.ts'
import { indexWords } from '#core/index/analysis/index-words.ts'
import { gramScore } from '#core/index/grams/coverage.ts'
import type { VersionStatistics } from './statistics.ts'

/** Primary subtags of languages that write a compound as one word, so that a passage may hold its parts. */
const COMPOUNDING: ReadonlySet<string> = new Set(['da', 'de', 'fi', 'hu', 'is', 'nb', 'nl', 'nn', 'no', 'sv'])
/** Weight of groups of letters beside words; see decision 0052. */
const GRAM_WEIGHT = 0.4

/** @param language BCP 47. */
export function writesCompounds(language: string): boolean {
  return COMPOUNDING.has(primaryLanguage(language))
}

/**
 * Returns the scores by words, with a share for groups of letters where a passage's language writes compounds. A row
 * without any word of the question stays at 0. It reads each passage that it scores.
 * @param lexical scores of the rows by words. @param wanted other rows keep their score.
 */
export function withCompounds(
  { grams, passage, rowGrams, tokens }: Pick<VersionStatistics, 'grams' | 'passage' | 'rowGrams' | 'tokens'>,
  text: string,
  rows: Uint32Array,
  lexical: Float64Array,
  wanted: (row: number) => boolean,
): Float64Array {
  const question = grams(indexWords(text))
  return lexical.map((score, at) => {
    const row = rows[at] ?? 0
    if (score === 0 || !wanted(row) || !writesCompounds(passage(row).metadata.language)) return score
    const { start, end } = tokens.read(row, row)
    const length = (end(row) - start(row)) / Math.max(1, tokens.description.mean_length)
    return (1 - GRAM_WEIGHT) * score + GRAM_WEIGHT * gramScore(question, rowGrams(row), length)
  })
}
