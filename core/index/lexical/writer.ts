import { primaryLanguage } from '#core/index/analysis/analyzer.ts'
import { createLargeMap, type LargeMap } from '#core/index/storage/large-map.ts'
import { ArtifactError } from '#core/index/artifact-error.ts'
import { fieldFrequency, impactOf, type FieldParameters } from './impact.ts'
import { LEXICAL_FIELDS, lexicalSchema, storedTerm, type LexicalField } from './layout.ts'
import { createOccurrences, type Occurrences } from './occurrences.ts'
import { invert, encodePostings, encodeTerms } from './encode.ts'

/** BM25F parameters: the saturation k1 of term frequency, and per field its weight and length normalisation b. */
export const LEXICAL_PARAMETERS = {
  k1: 0.9,
  fields: { heading: { weight: 1, b: 0.7 }, text: { weight: 1, b: 0.7 } },
} as const

/** The terms of a passage's fields (`createAnalyzer`) in its language. */
export interface LexicalTerms extends Readonly<Record<LexicalField, readonly string[]>> {
  /** BCP 47. */
  readonly language: string
}

export type LexicalFiles = ReturnType<typeof packed>

/**
 * Collects the terms of rows in ascending order and returns the content of the three files; see `layout.ts`.
 * @param rows number of rows to be added. Memory: about twelve bytes per posting, and the distinct terms.
 */
export function createLexicalWriter(rows: number) {
  const vocabulary = createVocabulary()
  const occurrences = createOccurrences(rows)
  let done = 0
  return {
    /** @throws ArtifactError unless rows are added as 0, 1, 2 … */
    add(row: number, { language, ...fields }: LexicalTerms) {
      if (row !== done || row >= rows)
        throw new ArtifactError(`Row ${row} came to the lexical index after ${done} of ${rows} rows.`)
      done += 1
      const numberOf = vocabulary.of(primaryLanguage(language))
      for (const [field, name] of LEXICAL_FIELDS.entries())
        for (const term of fields[name]) occurrences.count(numberOf(term), field)
      occurrences.endRow()
    },
    /** @throws ArtifactError when rows are missing, or terms do not fit the format's 32-bit offsets. */
    finish() {
      if (done !== rows) throw new ArtifactError(`${rows} rows were announced to the lexical index and ${done} came.`)
      return packed(vocabulary, occurrences, rows)
    },
  }
}

function createVocabulary() {
  const byLanguage = new Map<string, LargeMap<number>>()
  let next = 0
  return {
    /** Numbers terms in order of first appearance across all languages. */
    of(language: string) {
      const numbers = byLanguage.get(language) ?? createLargeMap<number>()
      byLanguage.set(language, numbers)
      return (term: string): number => {
        const known = numbers.get(term)
        if (known !== undefined) return known
        numbers.set(term, next)
        return next++
      }
    },
    languages: () => [...byLanguage.keys()].sort(),
    /** Stored form of each term by its number. Each unit of the string is one byte, so string order is byte order. */
    stored() {
      const stored: string[] = []
      for (const [language, numbers] of byLanguage)
        for (const [term, number] of numbers.entries()) stored[number] = storedTerm(language, term).toString('latin1')
      return stored
    },
  }
}

function packed(vocabulary: ReturnType<typeof createVocabulary>, occurrences: Occurrences, rows: number) {
  const { k1, fields } = LEXICAL_PARAMETERS
  const stored = vocabulary.stored()
  const described = LEXICAL_FIELDS.map((name, field) => ({
    ...fields[name],
    average_length: occurrences.totalLength(field) / rows,
  }))
  const frequency = weightedFrequency(occurrences, described)
  const inverted = invert(occurrences, stored.length, (row, posting) => impactOf(frequency(row, posting), k1))
  const order = Uint32Array.from(stored.keys()).sort((a, b) => ((stored[a] ?? '') < (stored[b] ?? '') ? -1 : 1))
  const { bytes, ...sizes } = encodeTerms(stored, order, inverted)
  return {
    description: lexicalSchema.parse({
      rows,
      languages: vocabulary.languages(),
      k1,
      fields: Object.fromEntries(LEXICAL_FIELDS.map((name, field) => [name, described[field]])),
      terms: stored.length,
      postings: inverted.rows.length,
      ...sizes,
    }),
    terms: bytes,
    /** In pieces; can be iterated once. */
    postings: encodePostings(order, inverted),
  }
}

/**
 * BM25F frequency of a posting's term: the sum over fields of weight × occurrences, normalised by the length of the
 * row's field.
 */
function weightedFrequency(
  occurrences: Occurrences,
  fields: readonly FieldParameters[],
): (row: number, posting: number) => number {
  return (row, posting) => {
    let sum = 0
    for (let field = 0; field < fields.length; field++) {
      const times = occurrences.frequency(posting, field)
      const parameters = fields[field]
      if (times === 0 || parameters === undefined) continue
      sum += fieldFrequency(times, parameters, occurrences.length(row, field))
    }
    return sum
  }
}
