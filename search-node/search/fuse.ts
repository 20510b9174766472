/** Candidates of both rankings in parallel columns; every candidate has the score of each ranking that ran. */
export interface Candidates {
  readonly rows: Uint32Array
  /** In [0, 1]; 0: shares no word with the query. Undefined: no lexical ranking. */
  readonly lexical: Float64Array | undefined
  /** Shares of search questions, in [0, 1]. Undefined: the version has none. */
  readonly asked?: Float64Array | undefined
  /** See `vector-scores.ts`; without bounds. Undefined: no dense ranking. */
  readonly dense: Float64Array | undefined
}

/**
 * A score to the power of 1.5, with its sign: few shared words, and passages that lie near no better than many others,
 * count little; see decision 0008. A square root is rounded alike on every machine.
 */
function powered(score: number): number {
  return score * Math.sqrt(Math.abs(score))
}

/**
 * One score for words and search questions, which count alike; see decision 0039. It has no bound at 1, so a passage
 * without search questions weighs as much against vectors as it does in a version that has none.
 */
export function withSearchQuestions(lexical: number, asked: number): number {
  return powered(lexical) + powered(asked)
}

/**
 * Returns one score of at most 1 per candidate: the weighted sum of both scores (Bruch, Gai & Ingber 2023), mapped into
 * (0, 1). If words alone ranked, returns their scores; if vectors alone ranked, theirs, mapped into (0, 1). Search
 * questions add to the words.
 */
export function fuse({ rows, lexical, asked, dense }: Candidates, denseWeight: number): Float64Array {
  if (lexical === undefined) return dense?.map(intoUnit) ?? new Float64Array(rows.length)
  const words = lexical.map((score, at) => withSearchQuestions(score, asked?.[at] ?? 0))
  if (dense === undefined) return asked === undefined ? lexical.slice() : words.map(intoUnit)
  return words.map((score, at) => intoUnit((1 - denseWeight) * score + denseWeight * powered(dense[at] ?? 0)))
}

/** Scores from here to 1 less this stay as they are. */
const UNIT_EDGE = 0.05

/**
 * Maps any number into (0, 1). The map is strictly increasing, so passages far below the mean keep their order.
 * Hyperbolas replace the line outside the edges. They use no function whose rounding depends on the machine.
 */
function intoUnit(score: number): number {
  if (score < UNIT_EDGE) return UNIT_EDGE ** 2 / (2 * UNIT_EDGE - score)
  if (score > 1 - UNIT_EDGE) return 1 - UNIT_EDGE ** 2 / (score - 1 + 2 * UNIT_EDGE)
  return score
}
