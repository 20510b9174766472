/** Bounds of an evaluation, and of the comparison of a candidate with the active version; part of `BOUNDS`. */
export const EVALUATION_BOUNDS = {
  evaluationQuestionsMax: 20_000,
  evaluationQuestionsBytesMax: 64 * 1024 * 1024,
  /** Known-item questions of a version without a question set. */
  evaluationSampleMax: 200,
  /** Sample queries that measure the spread of a version's cosines. */
  cosineQueries: 100,
  extractCharactersMin: 40,
  extractCharactersMax: 300,
  evaluationConcurrency: 4,
  evaluationAttemptsMax: 3,
  /** Fewer judged questions do not distinguish two rankings. */
  comparedQuestionsMin: 50,
  /** A gain of 0.02 in nDCG@10 is not distinguished on 300 questions, and is on 1,400 (decision 0008). */
  comparedQuestionsMax: 1_500,
  /** A re-ranker takes about a second a question. */
  rerankedQuestionsMax: 300,
  /** Questions, and rows that fill them up; each is compared with exact search under up to sixteen filters. */
  filteredQueries: 200,
  /** Similarities that are computed in one pass over the vectors. */
  filteredSimilaritiesBytesMax: 128 * 1024 * 1024,
  /** Questions before the measurement, so that files are cached and code is compiled. */
  warmUpQuestionsMax: 10,
  timedQuestionsMax: 100,
  /** Records of one ranking that the evaluation keeps for its report. */
  topRecordsKept: 5,

  // Comparison.
  /** Page cache of the file in which both versions are sorted. */
  comparisonCacheKb: 65_536,
  /** Passages after which the event loop gets a turn. */
  comparisonYieldEveryRows: 500,
  /** The comparison is made again for a version that became active meanwhile. */
  comparisonRoundsMax: 2,
  /** Changes that the evaluation page shows; the changes file names all. */
  changesShownMax: 100,
  /** Names of one document for which the comparison remembers the passage that has them. */
  repeatedNamesCachedMax: 10_000,
  /** Revisions that the entry of a changed document names. */
  changedRevisionsNamedMax: 20,
  /** Characters of the text of a passage that was removed or added. */
  changeExtractCharactersMax: 300,
  /** Words that a word-level difference may insert or delete. Texts that differ more are shown whole. */
  wordDifferenceEditsMax: 500,
  /** Equal words that the page shows on either side of a difference, in characters. */
  wordDifferenceContextCharactersMax: 160,
} as const
