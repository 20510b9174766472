import { mulberry32 } from '#core/platform/seeded-random.ts'

const RESAMPLES = 1_000
const SEED = 0x5eed
const LOWER = 0.025
const UPPER = 0.975

/** 95 % percentile bootstrap interval (Efron 1979): [low, high]. */
export type Interval = readonly [low: number, high: number]

/**
 * Computes intervals of the means of several columns over the same rows (questions); all columns use the same
 * resamples. The seed is fixed: the same numbers in the same order give the same intervals on every machine.
 * @param columns of equal length, at least 1.
 */
export function meanIntervals(columns: readonly Float64Array[]): readonly Interval[] {
  const rows = columns[0]?.length ?? 0
  const means = columns.map(() => new Float64Array(RESAMPLES))
  forEachResample(rows, (counts, resample) => {
    for (const [at, column] of columns.entries()) {
      let sum = 0
      for (let row = 0; row < rows; row++) sum += (column[row] ?? 0) * (counts[row] ?? 0)
      const own = means[at]
      if (own !== undefined) own[resample] = sum / rows
    }
  })
  return means.map(intervalOf)
}

/**
 * Computes the interval of a statistic of the number of times each row was drawn. Resamples with an undefined statistic
 * are left out. Returns undefined when all are.
 */
export function statisticInterval(rows: number, statistic: (counts: Uint32Array) => number | undefined) {
  const values: number[] = []
  forEachResample(rows, (counts) => {
    const value = statistic(counts)
    if (value !== undefined) values.push(value)
  })
  return values.length === 0 ? undefined : intervalOf(Float64Array.from(values))
}

function forEachResample(rows: number, take: (counts: Uint32Array, resample: number) => void): void {
  if (rows === 0) throw new RangeError('nothing to resample')
  const random = mulberry32(SEED)
  const counts = new Uint32Array(rows)
  for (let resample = 0; resample < RESAMPLES; resample++) {
    counts.fill(0)
    for (let draw = 0; draw < rows; draw++) {
      const row = Math.floor(random() * rows)
      counts[row] = (counts[row] ?? 0) + 1
    }
    take(counts, resample)
  }
}

/** Computes percentiles by linear interpolation between order statistics (Hyndman & Fan 1996, type 7). */
function intervalOf(values: Float64Array): Interval {
  const ascending = values.toSorted()
  const at = (share: number): number => {
    const position = share * (ascending.length - 1)
    const below = ascending[Math.floor(position)] ?? 0
    const above = ascending[Math.ceil(position)] ?? 0
    return below + (above - below) * (position - Math.floor(position))
  }
  return [at(LOWER), at(UPPER)]
}

/** Standard normal quantile of a two-sided interval of 95 %. */
const Z = 1.959_964

/**
 * The 95 % score interval of a share (Wilson 1927), which also holds for few trials and for shares of 0 and 1.
 * @returns undefined without trials.
 */
export function wilsonInterval(count: number, trials: number): readonly [number, number] | undefined {
  if (trials === 0) return undefined
  const share = count / trials
  const spread = Z ** 2 / trials
  const middle = share + spread / 2
  const half = Z * Math.sqrt((share * (1 - share)) / trials + spread / (4 * trials))
  return [Math.max(0, (middle - half) / (1 + spread)), Math.min(1, (middle + half) / (1 + spread))]
}
