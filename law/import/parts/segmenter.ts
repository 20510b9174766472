const SEGMENTERS_MAX = 100
const segmenters = new Map<string, Intl.Segmenter>()

/** Returns the segmenter of a language (UAX #29); the first ones are kept. */
export function segmenter(language: string, granularity: 'sentence' | 'word' | 'grapheme'): Intl.Segmenter {
  const key = `${granularity} ${language}`
  const known = segmenters.get(key) ?? new Intl.Segmenter(language, { granularity })
  if (segmenters.size < SEGMENTERS_MAX) segmenters.set(key, known)
  return known
}
