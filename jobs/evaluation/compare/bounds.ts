export const COMPARISON_BOUNDS = {
  /** Passages after which the event loop gets a turn. */
  comparisonYieldEveryRows: 500,
  /** The comparison is made again for a version that became active meanwhile. */
  comparisonRoundsMax: 2,
  /** Changes that the evaluation page shows; the changes file names all. */
  changesShownMax: 3_000,
  /** Characters of all passages that the page carries, compressed. */
  pagePassageCharactersMax: 40_000_000,
  /** Characters of the passages before and after a changed one that the page shows. */
  neighbourCharactersMax: 240,
  /** Names of one document for which the comparison remembers the passage that has them. */
  repeatedNamesCachedMax: 10_000,
  /** Shorter texts occur in many acts, such as those about their entry into force. */
  repeatedTextWordsMin: 20,
  /** Acts that the sentence about a rewritten history names. */
  actsNamedMax: 20,
  /** Characters of the text of a passage that was removed or added. */
  changeExtractCharactersMax: 300,
} as const
