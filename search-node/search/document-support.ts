/** What the best other candidate of its document adds to a candidate's score, as a share; see decision 0026. */
const SUPPORT = 0.1

/**
 * A document with one good passage more often holds another. Returns a function that adds to each score a share of the
 * best positive score of another candidate of the same document. Within a document, the order of the rows that lead
 * stays, and that of the others; one of the others may overtake the best row that leads.
 * @param documents of the rows of a version. @param leading rows that support others.
 */
export function createDocumentSupport(
  rows: Uint32Array,
  documents: Uint32Array,
  leading: ReadonlySet<number>,
): (scores: Float64Array) => Float64Array {
  const documentAt = (at: number): number => documents[rows[at] ?? 0] ?? 0
  return (scores) => {
    const best = new Map<number, Best>()
    for (let at = 0; at < scores.length; at++) {
      const score = scores[at] ?? 0
      if (score <= 0 || !leading.has(rows[at] ?? 0)) continue
      const found = best.get(documentAt(at))
      if (found === undefined || score > found.score) best.set(documentAt(at), { at, score, second: found?.score ?? 0 })
      else found.second = Math.max(found.second, score)
    }
    return scores.map((score, at) => {
      const found = best.get(documentAt(at))
      return found === undefined ? score : score + SUPPORT * (found.at === at ? found.second : found.score)
    })
  }
}

/** The best candidate of a document, and the score of the next one. */
interface Best {
  readonly at: number
  readonly score: number
  second: number
}
