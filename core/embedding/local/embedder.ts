import { termWeights } from './term-weights.ts'
import { fold } from '#core/index/analysis/words.ts'
import { EmbeddingError } from '#core/embedding/embedder.ts'
import type { Embedder } from '#core/embedding/embedder.ts'
import { addHashed, addNoise, hashUnits } from './feature-hashing.ts'

const DIMENSIONS = 1024
const STEM_PLACES = 4

/**
 * A longer stem is also hashed by its character n-grams, which survive compounding and derivation: `Aufsicht`,
 * `Aufsichtsbehörde`; `notify`, `notification`.
 */
const GRAM_LETTERS = 4
const GRAMS_FROM_LETTERS = 5
const GRAMS_SHARE = 0.7
const GRAM_PLACES = 2

/**
 * Length of a component that no other text shares. Without it, a two-word heading made of a question's words would be
 * the question's nearest neighbour. With it, the score grows with the covered share of the question. This is pivoted
 * length normalisation (Singhal et al. 1996) in a form that a unit vector can hold.
 */
const OWN_DIRECTION_LENGTH = Math.sqrt(5)

/**
 * Stems below this weight (function words, enumerators) do not affect a text's own direction. `notify a breach` and
 * `notifies the breaches` have the same one.
 */
const CONTENT_WEIGHT_MIN = 0.5

const STEM_SEED = 1
const GRAM_SEED = 2
const TEXT_SEED = 3

/**
 * Embeds by feature hashing of words: deterministic, without a model file, a corpus or state. Queries and passages
 * (`heading + "\n" + text`) are embedded in the same way. Every text gives a valid vector. A text without content words
 * is near only to itself. Tokens are always null. Reasons and results: docs/decisions/0022-embedding-endpoints.md.
 */
export function createLocalEmbedder(): Embedder {
  return {
    space: {
      provider: 'local',
      model: 'hashed-words-v1',
      dimensions: DIMENSIONS,
      query_prefix: '',
      passage_prefix: '',
      requests_dimensions: false,
    },
    embed(texts, _role, signal) {
      if (signal.aborted) return Promise.reject(new EmbeddingError('the call was aborted before the embedding'))
      return Promise.resolve({ vectors: texts.map(embedText), tokens: null, overlong: 0 })
    },
  }
}

/** The vector of a query or passage, of unit length. */
function embedText(text: string): Float32Array<ArrayBuffer> {
  const vector = new Float64Array(DIMENSIONS)
  let ownSeed = 0
  let contentTerms = 0
  for (const [stem, weight] of termWeights(text)) {
    const stemHash = hashUnits(stem, 0, stem.length, STEM_SEED)
    addHashed(vector, stemHash, weight, STEM_PLACES)
    addGrams(vector, stem, weight)
    if (weight < CONTENT_WEIGHT_MIN) continue
    ownSeed = (ownSeed + stemHash) | 0
    contentTerms++
  }
  if (contentTerms === 0) {
    const folded = fold(text)
    ownSeed = hashUnits(folded, 0, folded.length, TEXT_SEED)
  }
  addNoise(vector, ownSeed, OWN_DIRECTION_LENGTH)
  return atUnitLength(vector)
}

function addGrams(vector: Float64Array, stem: string, weight: number): void {
  if (stem.length < GRAMS_FROM_LETTERS) return
  const grams = stem.length - GRAM_LETTERS + 1
  const gramWeight = (GRAMS_SHARE * weight) / Math.sqrt(grams)
  for (let start = 0; start < grams; start++)
    addHashed(vector, hashUnits(stem, start, start + GRAM_LETTERS, GRAM_SEED), gramWeight, GRAM_PLACES)
}

function atUnitLength(vector: Float64Array): Float32Array<ArrayBuffer> {
  let squares = 0
  for (let at = 0; at < vector.length; at++) squares += (vector[at] ?? 0) ** 2
  const norm = Math.sqrt(squares)
  const unit = new Float32Array(vector.length)
  for (let at = 0; at < vector.length; at++) unit[at] = (vector[at] ?? 0) / norm
  return unit
}
