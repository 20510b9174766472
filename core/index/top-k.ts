/** Ids with their scores, best first. */
export interface Ranked {
  readonly ids: Uint32Array
  readonly scores: Float64Array
}

/** Keeps the `k` best of the ids that are offered: a higher score is better, and of equal scores the lower rank. */
export type TopK = ReturnType<typeof createTopK>

/**
 * A binary heap with the worst at the root.
 * @param ranks of all ids, each different; the ids themselves if undefined.
 */
export function createTopK(k: number, ranks?: Uint32Array) {
  const heap: Heap = { ids: new Uint32Array(k), scores: new Float64Array(k), ranks }
  let size = 0
  /** Result for the current ids; undefined after another offer. */
  let ranked: Ranked | undefined
  return {
    /** The worst score that is kept; lower ones are rejected. -Infinity while there are fewer than `k` ids. */
    threshold: (): number => (size < k ? -Infinity : (heap.scores[0] ?? -Infinity)),
    /** Each id may be offered once. */
    offer(id: number, score: number) {
      if (size < k) rise(heap, size++, id, score)
      else if (k > 0 && isWorse(heap, heap.scores[0] ?? 0, heap.ids[0] ?? 0, score, id)) sink(heap, size, id, score)
      else return
      ranked = undefined
    },
    sorted: (): Ranked => (ranked ??= sortedCopy(heap, size)),
  }
}

interface Heap {
  readonly ids: Uint32Array
  readonly scores: Float64Array
  readonly ranks: Uint32Array | undefined
}

function isWorse({ ranks }: Heap, score: number, id: number, thanScore: number, thanId: number): boolean {
  if (score !== thanScore) return score < thanScore
  return ranks === undefined ? id > thanId : (ranks[id] ?? 0) > (ranks[thanId] ?? 0)
}

/** Inserts an entry at a position and moves it towards the root while its parent is better. */
function rise(heap: Heap, from: number, id: number, score: number): void {
  const { ids, scores } = heap
  let at = from
  while (at > 0) {
    const parent = (at - 1) >>> 1
    if (!isWorse(heap, score, id, scores[parent] ?? 0, ids[parent] ?? 0)) break
    ids[at] = ids[parent] ?? 0
    scores[at] = scores[parent] ?? 0
    at = parent
  }
  ids[at] = id
  scores[at] = score
}

/** Inserts an entry at the root of the first `end` positions and moves it down while a child is worse. */
function sink(heap: Heap, end: number, id: number, score: number): void {
  const { ids, scores } = heap
  let at = 0
  for (let child = 1; child < end; child = at * 2 + 1) {
    const next = child + 1
    if (next < end && isWorse(heap, scores[next] ?? 0, ids[next] ?? 0, scores[child] ?? 0, ids[child] ?? 0))
      child = next
    if (!isWorse(heap, scores[child] ?? 0, ids[child] ?? 0, score, id)) break
    ids[at] = ids[child] ?? 0
    scores[at] = scores[child] ?? 0
    at = child
  }
  ids[at] = id
  scores[at] = score
}

/** Heapsort: moves the worst remaining entry to the end. */
function sortedCopy(heap: Heap, size: number): Ranked {
  const copy = { ids: heap.ids.slice(0, size), scores: heap.scores.slice(0, size), ranks: heap.ranks }
  for (let end = size - 1; end > 0; end--) {
    const [id = 0, score = 0] = [copy.ids[end], copy.scores[end]]
    copy.ids[end] = copy.ids[0] ?? 0
    copy.scores[end] = copy.scores[0] ?? 0
    sink(copy, end, id, score)
  }
  return { ids: copy.ids, scores: copy.scores }
}

/** The `k` largest values with their positions as ids, largest first; of equal values the first comes first. */
export function largest(values: ArrayLike<number>, k: number): Ranked {
  const top = createTopK(k)
  for (let at = 0; at < values.length; at++) top.offer(at, values[at] ?? 0)
  return top.sorted()
}
