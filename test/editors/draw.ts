import { mulberry32 } from '#core/platform/seeded-random.ts'

/** The random choices of one case. The same seed makes the same choices. */
export interface Draw {
  /** A whole number from 0 to `count - 1`. */
  below(count: number): number
  chance(probability: number): boolean
  /** @throws Error where there is nothing to choose from. */
  pick<T>(values: readonly T[]): T
  /** Some of the values, at least one, in their order. */
  some<T>(values: readonly T[]): readonly T[]
  shuffled<T>(values: readonly T[]): readonly T[]
  /** A word that stands in no source. */
  marker(): string
}

const SYLLABLES = ['zqa', 'zqo', 'zqu', 'vyx', 'vux', 'kyj', 'kuj', 'wyv'] as const

export function drawFrom(seed: number): Draw {
  const random = mulberry32(seed)
  const below = (count: number): number => Math.floor(random() * count)
  function pick<T>(values: readonly T[]): T {
    if (values.length === 0) throw new Error('there is nothing to choose from')
    return values[below(values.length)] as T
  }
  function shuffled<T>(values: readonly T[]): readonly T[] {
    return values
      .map((value) => ({ value, at: random() }))
      .toSorted((a, b) => a.at - b.at)
      .map(({ value }) => value)
  }
  return {
    below,
    pick,
    shuffled,
    chance: (probability) => random() < probability,
    some(values) {
      const chosen = values.filter(() => random() < 0.4)
      return chosen.length > 0 ? chosen : [pick(values)]
    },
    marker: () => Array.from({ length: 4 }, () => pick(SYLLABLES)).join(''),
  }
}
