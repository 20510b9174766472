import { fnv1a, fnvSeed } from '#core/index/analysis/ngrams.ts'
import KNOWN from '#core/index/analysis/known-words.json' with { type: 'json' }
import { words } from '#core/index/analysis/words.ts'
import type { Embedder } from '#core/embedding/embedder.ts'
import { mulberry32 } from '#core/platform/seeded-random.ts'
import { spaceOf } from './artifact.ts'

export const WORD_DIMENSIONS = 512
const PLACES = 4
const GRAM_LETTERS = 4
/** Of a component that no other text shares; without it, a short text would be near to every question of its words. */
const OWN_LENGTH = 2

const functionWords = new Set(words(Object.values(KNOWN.function).join(' ')))

/** A unit vector of hashed words and their parts (Weinberger et al. 2009): texts are as near as they share words. */
export function wordVector(text: string): Float32Array<ArrayBuffer> {
  const vector = new Float64Array(WORD_DIMENSIONS)
  const add = (feature: string, weight: number): void => {
    const random = mulberry32(fnv1a(feature, fnvSeed(1)))
    for (let place = 0; place < PLACES; place++) {
      const at = Math.floor(random() * WORD_DIMENSIONS)
      vector[at] = (vector[at] ?? 0) + (random() < 0.5 ? weight : -weight) / Math.sqrt(PLACES)
    }
  }
  const counts = new Map<string, number>()
  for (const word of words(text)) counts.set(word, (counts.get(word) ?? 0) + 1)
  for (const [word, count] of counts) {
    const weight = (functionWords.has(word) ? 0.1 : 1) * (1 + Math.log(count))
    const grams = Array.from({ length: Math.max(0, word.length - GRAM_LETTERS + 1) }, (_, at) =>
      word.slice(at, at + GRAM_LETTERS),
    )
    add(word, weight)
    for (const gram of grams) add(` ${gram}`, weight / Math.sqrt(grams.length))
  }
  const own = mulberry32(fnv1a(text))
  for (let at = 0; at < WORD_DIMENSIONS; at++)
    vector[at] = (vector[at] ?? 0) + ((own() < 0.5 ? 1 : -1) * OWN_LENGTH) / Math.sqrt(WORD_DIMENSIONS)
  const norm = Math.hypot(...vector)
  return Float32Array.from(vector, (value) => value / norm)
}

/** An embedder of such vectors, for builds in the process of a test. */
export const WORD_EMBEDDER: Embedder = {
  space: spaceOf(WORD_DIMENSIONS, { model: 'words' }),
  embed: (texts) => Promise.resolve({ vectors: texts.map(wordVector), tokens: null, overlong: 0 }),
}
