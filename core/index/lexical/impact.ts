import { IMPACT_MAX, type LexicalDescription, type LexicalField } from './layout.ts'

/** Higher frequencies hardly change the impact, because it saturates. */
export const FREQUENCY_MAX = 255

export type FieldParameters = LexicalDescription['fields'][LexicalField]

/** What a field adds to the BM25F frequency of a term. @param length number of terms in the field. */
export function fieldFrequency(
  times: number,
  { weight, b, average_length: average }: FieldParameters,
  length: number,
): number {
  return (weight * times) / (1 - b + (b * length) / average)
}

/** @param frequency BM25F frequency of a term in a row. @param k1 see `LEXICAL_PARAMETERS`. */
export function impactOf(frequency: number, k1: number): number {
  return Math.max(1, Math.round((IMPACT_MAX * frequency) / (k1 + frequency)))
}

/**
 * The impacts of a row's terms, which equal those of `lexical.postings`.
 * @param tokens hashes of its terms, heading first; see `forward-layout.ts`. @param headingTerms number of the first.
 */
export function impactsOf(
  tokens: Uint32Array,
  headingTerms: number,
  { k1, fields: { heading, text } }: Pick<LexicalDescription, 'k1' | 'fields'>,
): ReadonlyMap<number, number> {
  const times = new Map<number, [heading: number, text: number]>()
  for (const [at, token] of tokens.entries()) {
    const counts = times.get(token) ?? [0, 0]
    counts[at < headingTerms ? 0 : 1] += 1
    times.set(token, counts)
  }
  const lengths = [headingTerms, tokens.length - headingTerms]
  const impacts = new Map<number, number>()
  for (const [token, counts] of times) {
    let frequency = 0
    for (const [field, parameters] of [heading, text].entries()) {
      const count = Math.min(counts[field] ?? 0, FREQUENCY_MAX)
      if (count > 0) frequency += fieldFrequency(count, parameters, lengths[field] ?? 0)
    }
    impacts.set(token, impactOf(frequency, k1))
  }
  return impacts
}
