import { mulberry32 } from '#core/platform/seeded-random.ts'

/** The random choices of one case. The same seed makes the same choices. */
export type Draw = ReturnType<typeof drawFrom>

const SYLLABLES = ['zqa', 'zqo', 'zqu', 'vyx', 'vux', 'kyj', 'kuj', 'wyv'] as const

export function drawFrom(seed: number) {
  const random = mulberry32(seed)
  const below = (count: number): number => Math.floor(random() * count)
  /** @throws Error where there is nothing to choose from. */
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
    /** A whole number from 0 to `count - 1`. */
    below,
    pick,
    shuffled,
    chance: (probability: number) => random() < probability,
    /** Some of the values, at least one, in their order. */
    some<T>(values: readonly T[]): readonly T[] {
      const chosen = values.filter(() => random() < 0.4)
      return chosen.length > 0 ? chosen : [pick(values)]
    },
    /** A word that stands in no source. */
    marker: () => Array.from({ length: 4 }, () => pick(SYLLABLES)).join(''),
  }
}
