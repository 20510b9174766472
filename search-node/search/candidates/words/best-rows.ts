/**
 * The best `wanted` rows so far, in a binary heap with the worst at the root: lower score, and of equal scores the
 * larger row, is worse.
 */
export interface BestRows {
  /** Score below which no row gets in; 0 until `wanted` rows are there. */
  threshold(): number
  offer(row: number, score: number): void
  /** Best first. */
  sorted(): { readonly rows: Uint32Array; readonly scores: Uint32Array }
}

export function createBestRows(wanted: number): BestRows {
  const rows = new Uint32Array(wanted)
  const scores = new Uint32Array(wanted)
  let size = 0

  /** Whether what lies at place a is worse than at place b. */
  function worse(a: number, b: number): boolean {
    const [scoreA = 0, scoreB = 0] = [scores[a], scores[b]]
    return scoreA === scoreB ? (rows[a] ?? 0) > (rows[b] ?? 0) : scoreA < scoreB
  }
  function swap(a: number, b: number): void {
    const [row = 0, score = 0] = [rows[a], scores[a]]
    rows[a] = rows[b] ?? 0
    scores[a] = scores[b] ?? 0
    rows[b] = row
    scores[b] = score
  }
  function rise(from: number): void {
    for (let at = from; at > 0;) {
      const parent = (at - 1) >>> 1
      if (!worse(at, parent)) return
      swap(at, parent)
      at = parent
    }
  }
  function sink(end: number): void {
    for (let at = 0; ;) {
      let child = at * 2 + 1
      if (child >= end) return
      if (child + 1 < end && worse(child + 1, child)) child += 1
      if (!worse(child, at)) return
      swap(at, child)
      at = child
    }
  }
  return {
    threshold: () => (size < wanted ? 0 : (scores[0] ?? 0)),
    offer(row, score) {
      if (size < wanted) {
        rows[size] = row
        scores[size] = score
        rise(size++)
        return
      }
      const worst = scores[0] ?? 0
      if (score < worst || (score === worst && row >= (rows[0] ?? 0))) return
      rows[0] = row
      scores[0] = score
      sink(size)
    },
    sorted() {
      const found = size
      for (let end = found - 1; end > 0; end--) {
        swap(0, end)
        sink(end)
      }
      size = 0
      return { rows: rows.slice(0, found), scores: scores.slice(0, found) }
    },
  }
}
