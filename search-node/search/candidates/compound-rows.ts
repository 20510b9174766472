import { primaryLanguage } from '#core/index/analysis/analyzer.ts'
import { hasRow } from '#core/index/bitset.ts'
import type { FacetsReader } from '#core/index/facets/reader.ts'
import { union } from './filter-bitset.ts'

/** Primary subtags of languages that write a compound as one word, so that a passage may hold its parts. */
const COMPOUNDING: ReadonlySet<string> = new Set(['da', 'de', 'fi', 'hu', 'is', 'nb', 'nl', 'nn', 'no', 'sv'])

/**
 * Finds the rows whose language writes compounds; it reads the facets once.
 * @returns undefined where no language of the version does.
 */
export function compoundRows(reader: FacetsReader, passages: number): ((row: number) => boolean) | undefined {
  const { languages } = reader.facets
  const compounding = languages.filter((language) => COMPOUNDING.has(primaryLanguage(language)))
  if (compounding.length === 0) return undefined
  const bits = union(compounding, languages, 0, passages, reader)
  return (row) => hasRow(bits, row)
}
