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
