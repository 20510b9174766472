type Granularity = 'sentence' | 'word' | 'grapheme'

const SEGMENTERS_MAX = 100
const segmenters = new Map<string, Intl.Segmenter>()

/** Returns the segmenter of a language (UAX #29); the first ones are kept. */
export function segmenter(language: string, granularity: Granularity): Intl.Segmenter {
  const key = `${granularity} ${language}`
  const known = segmenters.get(key) ?? new Intl.Segmenter(language, { granularity })
  if (segmenters.size < SEGMENTERS_MAX) segmenters.set(key, known)
  return known
}
