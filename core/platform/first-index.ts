/**
 * Returns the first index of which a condition holds that holds of all after it too; the count where it holds of none.
 * It takes logarithmic time.
 */
export function firstIndex(count: number, holds: (index: number) => boolean): number {
  let [low, high] = [0, count]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (holds(middle)) high = middle
    else low = middle + 1
  }
  return low
}
