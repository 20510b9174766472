/**
 * Returns a generator of numbers in [0, 1) from a seed (Ettinger's mulberry32). It uses only integer arithmetic, so
 * every machine gets the same numbers.
 */
export function mulberry32(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** Returns 0 to `count` - 1 in a random order (Fisher–Yates), which depends on the generator alone. */
export function randomOrder(count: number, random: () => number): Uint32Array {
  const order = new Uint32Array(count)
  for (let at = 0; at < count; at++) order[at] = at
  for (let last = count - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1))
    const value = order[last] ?? 0
    order[last] = order[other] ?? 0
    order[other] = value
  }
  return order
}
