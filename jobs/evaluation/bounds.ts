import { createBoundOrder } from '#core/platform/bound-order.ts'

export const EVALUATION_BOUNDS = {
  // Questions.
  evaluationQuestionsMax: 20_000,
  evaluationQuestionsBytesMax: 64 * 1024 * 1024,
  /** Questions that a refusal names by id. */
  questionsNamedMax: 10,
  /** Known-item questions of a version without a question set. */
  evaluationSampleMax: 200,
  /** Questions of any words, which no passage answers. */
  negatives: 200,
  /** Texts of each kind that are drawn against a fitted decision. */
  drawnTextsOfKind: 84,
  extractCharactersMin: 40,
  extractCharactersMax: 300,
  evaluationConcurrency: 4,
  evaluationAttemptsMax: 3,
  /** Nobody waits for these replies, so a busy machine must not fail a build. */
  evaluationSearchTimeoutMs: 30_000,
  /** Labelled questions that a build has its reader read, one call each. */
  readQuestionsMax: 400,
  /** Passages of a list that a rewriter's queries found, of which the first ones count. */
  rewrittenDepth: 10,
  /** File of what a model gave, and one line of it. */
  replyCacheBytesMax: 256 * 1024 * 1024,
  replyLineBytesMax: 65_536,

  // Search questions.
  /** Those of a sample that are asked of the version. */
  searchQuestionsAskedMax: 1_000,
  searchQuestionsShownMax: 20,

  // Measurements.
  /** Fewer judged questions do not distinguish two rankings. */
  comparedQuestionsMin: 50,
  /** A gain of 0.02 in nDCG@10 is not distinguished on 300 questions, and is on 1,400 (decision 0008). */
  comparedQuestionsMax: 1_500,
  /** A reader that orders takes about a second a question. */
  orderedQuestionsMax: 300,
  /** Questions, and rows that fill them up; each is compared with exact search under up to sixteen filters. */
  filteredQueries: 200,
  /** Similarities that are computed in one pass over the vectors. */
  filteredSimilaritiesBytesMax: 128 * 1024 * 1024,
  /** Questions before the measurement, so that files are cached and code is compiled. */
  warmUpQuestionsMax: 10,
  timedQuestionsMax: 50,

  // Report.
  /** Records of one ranking that the evaluation keeps for its report. */
  topRecordsKept: 5,
  /** Words that a word-level difference may insert or delete. Texts that differ more are shown whole. */
  wordDifferenceEditsMax: 500,
  /** Equal words that the page shows on either side of a difference, in characters. */
  wordDifferenceContextCharactersMax: 160,
} as const

const { assertLess } = createBoundOrder(EVALUATION_BOUNDS)

assertLess('extractCharactersMin', 'extractCharactersMax')
assertLess('comparedQuestionsMin', 'orderedQuestionsMax')
assertLess('orderedQuestionsMax', 'comparedQuestionsMax')
assertLess('warmUpQuestionsMax', 'timedQuestionsMax')
