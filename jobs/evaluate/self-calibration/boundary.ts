import { logistic } from '#core/domain/calibration.ts'

/** The boundary is searched in [-REACH, REACH]; probabilities beyond differ from 0 or 1 by less than 2e-7. */
const REACH = 16
/** Halvings of the interval; the boundary is then exact to 1e-9. */
const HALVINGS = 34

/**
 * Returns the log odds that separate two samples: the intercept, with opposite sign, of a logistic regression on the
 * values in which both samples weigh alike and the slope is 1.
 * @param above log odds that should lie above the boundary. @param below those that should lie below it.
 * @returns in [-16, 16].
 */
export function boundaryOf(above: readonly number[], below: readonly number[]): number {
  let [low, high] = [-REACH, REACH]
  for (let halving = 0; halving < HALVINGS; halving++) {
    const middle = (low + high) / 2
    const missed = mean(above.map((value) => logistic(middle - value)))
    const passed = mean(below.map((value) => logistic(value - middle)))
    if (passed > missed) low = middle
    else high = middle
  }
  return (low + high) / 2
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}
