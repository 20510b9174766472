import { citedOrder } from './boost.ts'
import type { CitedCandidates } from './candidates/source.ts'
import { namedCoverage } from './named-coverage.ts'
import type { VersionStatistics } from './statistics.ts'

/** Passages of named provisions that are compared with the question. */
const NAMED_PASSAGES_MAX = 32

/**
 * Returns the share of what the question asks that the named provisions in the list contain; undefined if the list
 * holds no passage of a named provision.
 * @param listed rows of the list. @param languages BCP 47 codes that may be found.
 */
export function namedCoverageOf(
  { question, tokens, passage }: VersionStatistics,
  cited: CitedCandidates,
  listed: readonly number[],
  languages: readonly string[],
): number | undefined {
  if (!listed.some((row) => cited.ids.has(row))) return undefined
  const rows = citedOrder(cited.ids, NAMED_PASSAGES_MAX).slice(0, NAMED_PASSAGES_MAX)
  const passages = rows.map((row) => {
    const { heading, text, metadata } = passage(row)
    return { text: { language: metadata.language, heading, text }, words: tokens.read(row, row).words(row).slice() }
  })
  return namedCoverage(question(cited.remainder, languages), passages)
}
