/**
 * What a search node measures of a ranked list, in this order; all but `mean_idf`, `first_length` and `fused_top` lie
 * in [0, 1]. How each is computed: `search-node/search/predictors.ts`. Their number and order are part of the wire
 * format: a gateway refuses a list of another length.
 */
export const PREDICTORS = [
  /** Share of the greatest possible score that the passages of the first passage's document reach together. */
  'document_coverage',
  /** Share of the lexical candidates that lie in the first one's document. */
  'document_share',
  /** Weight of the document on which words and vectors agree most. */
  'document_agreement',
  /** Neighbouring words of the question that stand side by side in a candidate. */
  'adjacent_pairs',
  /** The same within three words, in one of the first five passages. */
  'near_pairs',
  /** Share of the question's words that are not function words. */
  'content_share',
  /** Mean and deviation of the words' inverse document frequency, relative to the greatest. */
  'mean_idf',
  'idf_deviation',
  /** ln(1 + words of the first passage). */
  'first_length',
  /** Share of the question that the first passage says, near spellings counting in part. */
  'first_coverage',
  /** Mean of the five best sums of lexical share and cosine. */
  'fused_top',
  /** Share of the first passage's words that the question asks for. */
  'first_focus',
  /** Share of the question that one short stretch of a passage says. */
  'window_coverage',
  /** Rank-biased overlap of lexical and dense order. */
  'rank_overlap',
  /** How much of the first five stays when any one word of the question is left out. */
  'word_stability',
] as const
export type Predictor = (typeof PREDICTORS)[number]
