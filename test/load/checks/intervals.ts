/** A half-open interval of time, in ms since 1970-01-01. */
export interface Interval {
  readonly fromMs: number
  readonly toMs: number
}

/** How many intervals hold each instant: `counts[n]` from `times[n]` up to the next time. */
export type Occupancy = ReturnType<typeof occupancyOf>

export function occupancyOf(intervals: readonly Interval[]) {
  const steps = intervals
    .filter(({ fromMs, toMs }) => toMs > fromMs)
    .flatMap(({ fromMs, toMs }) => [
      { atMs: fromMs, change: 1 },
      { atMs: toMs, change: -1 },
    ])
    .sort((one, other) => one.atMs - other.atMs || one.change - other.change)
  const times: number[] = []
  const counts: number[] = []
  let count = 0
  for (const { atMs, change } of steps) {
    count += change
    if (times.at(-1) === atMs) counts[counts.length - 1] = count
    else {
      times.push(atMs)
      counts.push(count)
    }
  }
  return { times, counts }
}

/** The most intervals at any instant from `fromMs` to `toMs`, both included, and when that was. */
export function mostAtOnce({ times, counts }: Occupancy, fromMs = -Infinity, toMs = Infinity) {
  // The last step at or before the beginning still holds there.
  let low = 0
  for (let high = times.length; low < high;) {
    const middle = Math.floor((low + high) / 2)
    if ((times[middle] ?? 0) <= fromMs) low = middle + 1
    else high = middle
  }
  let found = { most: 0, atMs: fromMs }
  for (let at = Math.max(0, low - 1); at < times.length && (times[at] ?? 0) <= toMs; at++) {
    const count = counts[at] ?? 0
    if (count > found.most) found = { most: count, atMs: times[at] ?? 0 }
  }
  return found
}
