/** Checks of bounds against each other. They throw at load, because a contradiction is a programming error. */
export interface BoundOrder<Bound extends string> {
  assertLess(...ascending: readonly [Bound, Bound, ...Bound[]]): void
  /** Several times, one after the other, take less than their limit. */
  assertSumLess(parts: readonly Bound[], larger: Bound): void
}

export function createBoundOrder<Bound extends string>(bounds: Readonly<Record<Bound, number>>): BoundOrder<Bound> {
  return {
    assertLess(...ascending) {
      ascending.reduce((smaller, larger) => {
        if (bounds[smaller] >= bounds[larger]) throw new Error(`bound ${smaller} must be less than ${larger}`)
        return larger
      })
    },
    assertSumLess(parts, larger) {
      if (parts.reduce((sum, part) => sum + bounds[part], 0) >= bounds[larger])
        throw new Error(`bounds ${parts.join(', ')} must be less than ${larger} together`)
    },
  }
}
