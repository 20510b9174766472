/**
 * Query performance predictors that a search node computes for a ranked list, in this order. All are in [0, 1] but
 * those above the background, `mean_idf`, `first_length`, `nearest_vector`, `named_missing` and `named_margin`.
 * `search-node/search/predictors.ts` computes them. Their number and order are part of the wire format. A gateway
 * refuses a list in which a predictor is missing that the profile's calibration uses.
 */
export const PREDICTORS = [
  /**
   * Share of the lexical candidates in the first one's document above the background, in [-1, 1]; 0 if all are in one.
   */
  'document_share',
  /** Weight of the document on which words and vectors agree most. */
  'document_agreement',
  /**
   * Share of the question's pairs of adjacent words that stand within three words, in one of the first five passages.
   */
  'near_pairs',
  /** Share of the question's words that are not function words. */
  'content_share',
  /** Mean and standard deviation of the words' inverse document frequency, relative to the maximum. */
  'mean_idf',
  'idf_deviation',
  /** ln(1 + words of the first passage). */
  'first_length',
  /** Share of the question that the first passage contains. */
  'first_coverage',
  /**
   * What the first five passages hold of the question above the version's background (`aboveBackground`): of its words
   * in the best of them, of its n-grams in the best, of its n-grams on average. Each in [-1, 1].
   */
  'words_best',
  'grams_best',
  'grams_mass',
  /** 1 if a provision that the question names is held, allowed and in the list; else 0. */
  'named',
  /** Score of the nearest passage by vector; see `search-node/search/fuse.ts`. */
  'nearest_vector',
  /** Weight of what the question asks about the named provision that its passages lack; 0 without one. */
  'named_missing',
  /** Share of what it asks that another candidate of the document holds beyond the provision's passages. */
  'named_elsewhere',
  /** Best score by vector of the provision's passages less that of the other candidates, at most 0. */
  'named_margin',
  /**
   * Share of the question that the first passage's best query expansion holds beyond what the passage itself holds; 0
   * without query expansions.
   */
  'search_questions_only',
] as const
export type Predictor = (typeof PREDICTORS)[number]

/** Those that describe the question or its first passage. Of the others, a higher value is more evidence. */
export const DESCRIPTIVE_PREDICTORS = ['content_share', 'mean_idf', 'idf_deviation', 'first_length'] as const

/** Returns one of the predictors of a list; undefined where the node sent none of this name. */
export function predictorOf(predictors: readonly number[], name: Predictor): number | undefined {
  return predictors[PREDICTORS.indexOf(name)]
}

/** Predictors of a list whose first passages were read, after those of the search node. */
export const READER_PREDICTORS = [
  /** Best score of the reader: for a chat model in [0, 1], for a cross-encoder on its model's scale. */
  'reader_best',
  /** The best score less the next; 0 where one passage was read. */
  'reader_margin',
] as const
export type ReaderPredictor = (typeof READER_PREDICTORS)[number]

/** @param scores at least one. */
export function readerPredictors(scores: readonly number[]): Readonly<Record<ReaderPredictor, number>> {
  const [best = Number.NaN, next = best] = scores.toSorted((a, b) => b - a)
  return { reader_best: best, reader_margin: best - next }
}
