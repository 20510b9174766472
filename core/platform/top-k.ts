/** Ids with their scores, best first. */
export interface Ranked {
  readonly ids: Uint32Array
  readonly scores: Float64Array
}

/** Keeps the `k` best of the ids that are offered: a higher score is better, and of equal scores the lower id. */
export interface TopK {
  /** The worst score that is kept; no lower one gets in. -Infinity until `k` ids are there. */
  threshold(): number
  /** An id is offered once. */
  offer(id: number, score: number): void
  sorted(): Ranked
}

/** A binary heap with the worst at the root. */
export function createTopK(k: number): TopK {
  const ids = new Uint32Array(k)
  const scores = new Float64Array(k)
  let size = 0

  /** Whether what lies at place a is worse than at place b. */
  function worse(a: number, b: number): boolean {
    const [scoreA = 0, scoreB = 0] = [scores[a], scores[b]]
    return scoreA === scoreB ? (ids[a] ?? 0) > (ids[b] ?? 0) : scoreA < scoreB
  }
  function swap(a: number, b: number): void {
    const [id = 0, score = 0] = [ids[a], scores[a]]
    ids[a] = ids[b] ?? 0
    scores[a] = scores[b] ?? 0
    ids[b] = id
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
  function sink(): void {
    for (let at = 0; ;) {
      let child = at * 2 + 1
      if (child >= size) return
      if (child + 1 < size && worse(child + 1, child)) child += 1
      if (!worse(child, at)) return
      swap(at, child)
      at = child
    }
  }
  return {
    threshold: () => (size < k ? -Infinity : (scores[0] ?? -Infinity)),
    offer(id, score) {
      if (size < k) {
        ids[size] = id
        scores[size] = score
        rise(size++)
        return
      }
      const worst = scores[0] ?? Infinity
      if (score < worst || (score === worst && id >= (ids[0] ?? 0))) return
      ids[0] = id
      scores[0] = score
      sink()
    },
    sorted() {
      const places = Uint32Array.from({ length: size }, (_, place) => place).sort((a, b) => (worse(a, b) ? 1 : -1))
      return { ids: places.map((place) => ids[place] ?? 0), scores: Float64Array.from(places, (at) => scores[at] ?? 0) }
    },
  }
}

/** Positions of the `k` largest values, largest first; of equal values the first comes first. */
export function largest(values: ArrayLike<number>, k: number): Uint32Array {
  const top = createTopK(k)
  for (let at = 0; at < values.length; at++) top.offer(at, values[at] ?? 0)
  return top.sorted().ids
}
