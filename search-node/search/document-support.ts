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
  return (scores) => supported(scores, rows, documents, leading)
}

function supported(
  scores: Float64Array,
  rows: Uint32Array,
  documents: Uint32Array,
  leading: ReadonlySet<number>,
): Float64Array {
  const best = new Map<number, Best>()
  for (let at = 0; at < scores.length; at++) {
    const [row = 0, score = 0] = [rows[at], scores[at]]
    if (score <= 0 || !leading.has(row)) continue
    const document = documents[row] ?? 0
    const found = best.get(document)
    if (found === undefined || score > found.score) best.set(document, { at, score, second: found?.score ?? 0 })
    else found.second = Math.max(found.second, score)
  }
  const sums = new Float64Array(scores.length)
  for (let at = 0; at < scores.length; at++) {
    const found = best.get(documents[rows[at] ?? 0] ?? 0)
    const score = scores[at] ?? 0
    sums[at] = found === undefined ? score : score + SUPPORT * (found.at === at ? found.second : found.score)
  }
  return sums
}

/** The best candidate of a document, and the score of the next one. */
interface Best {
  readonly at: number
  readonly score: number
  second: number
}
