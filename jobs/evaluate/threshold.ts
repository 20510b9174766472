/**
 * The threshold of a version without unanswerable questions to fit one on, by what its vectors come from: the scale of a cosine differs
 * between models. Local, measured on hand-made questions over four corpora (answerable ones answered / off-topic ones answered): EU acts
 * 1.00 / 0.10, US rules 1.00 / 0.19, Code civil 0.83 / 0.06, German acts 0.82 / 0.06. A question set of one's own fits a better one.
 */
export const DEFAULT_THRESHOLD = { local: 0.2, openai: 0.3 } as const

/** Of the unanswerable questions at most this share may be answered. */
export const UNANSWERABLE_ANSWERED_MAX = 0.1

/** The decision rule everywhere: answer iff the best passage's score reaches the threshold. */
export function isAnswered(topScore: number, threshold: number): boolean {
  return topScore >= threshold
}

/**
 * Fits the threshold on the top scores, in [0, 1], of a question set. Among the midpoints between neighbouring observed scores (0 and 1
 * count as neighbours of the outermost) it takes the one that answers most answerable questions while at most one in ten unanswerable
 * ones is answered; of equals, the highest.
 */
export function fitThreshold(answerable: readonly number[], unanswerable: readonly number[]): number {
  const [withAnswer, withoutAnswer] = [ascending(answerable), ascending(unanswerable)]
  const answeredMax = Math.floor(unanswerable.length * UNANSWERABLE_ANSWERED_MAX)
  const observed = ascending([...new Set([0, ...answerable, ...unanswerable, 1])])
  let best = 1
  let bestCovered = -1
  for (let at = observed.length - 1; at > 0; at--) {
    const candidate = between(observed[at - 1] ?? 0, observed[at] ?? 1)
    if (answeredAt(withoutAnswer, candidate) > answeredMax) break
    const covered = answeredAt(withAnswer, candidate)
    if (covered > bestCovered) [best, bestCovered] = [candidate, covered]
  }
  return best
}

function ascending(values: readonly number[]): readonly number[] {
  return values.toSorted((a, b) => a - b)
}

/** How many of the ascending scores are answered at a threshold, by bisection. */
function answeredAt(scores: readonly number[], threshold: number): number {
  let [from, to] = [0, scores.length]
  while (from < to) {
    const middle = (from + to) >>> 1
    if (isAnswered(scores[middle] ?? 0, threshold)) to = middle
    else from = middle + 1
  }
  return scores.length - from
}

/** The midpoint, or the upper value where no number lies between the two. */
function between(lower: number, upper: number): number {
  const middle = (lower + upper) / 2
  return middle > lower ? middle : upper
}
