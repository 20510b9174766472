/** Positions of values, taken one by one. */
interface PriorityQueue {
  readonly size: number
  peek(): number
  pop(): number
}

/**
 * The positions of values, largest value first (ties: lowest position). A binary heap for callers that take a few of
 * thousands and do not know how many.
 */
export function createPriorityQueue(values: Float64Array): PriorityQueue {
  const heap = Uint32Array.from(values.keys())
  let size = heap.length
  const at = (place: number): number => heap[place] ?? 0
  const before = (a: number, b: number): boolean =>
    (values[a] ?? 0) > (values[b] ?? 0) || (values[a] === values[b] && a < b)

  function sink(from: number): void {
    const moved = at(from)
    let place = from
    for (let child = 2 * place + 1; child < size; child = 2 * place + 1) {
      if (child + 1 < size && before(at(child + 1), at(child))) child += 1
      if (!before(at(child), moved)) break
      heap[place] = at(child)
      place = child
    }
    heap[place] = moved
  }
  for (let place = (size >>> 1) - 1; place >= 0; place--) sink(place)
  return {
    get size() {
      return size
    },
    peek: () => at(0),
    pop() {
      const first = at(0)
      size -= 1
      heap[0] = at(size)
      sink(0)
      return first
    },
  }
}
