/** Ways in which a file is damaged, by name: a failure is told by file, seed and name. */
export const MUTATIONS = ['cut', 'flipped', 'repeated', 'removed', 'zeroed', 'swapped'] as const
export type Mutation = (typeof MUTATIONS)[number]

/** Linear congruential generator (Knuth, MMIX, lower half): the same seed gives the same damage. */
export function createRandom(seed: number): (below: number) => number {
  let state = BigInt(seed)
  return (below) => {
    state = (state * 6_364_136_223_846_793_005n + 1_442_695_040_888_963_407n) % (1n << 64n)
    return Number((state >> 33n) % BigInt(Math.max(1, below)))
  }
}

const BLOCK = 400
const FLIPS = 12

/** Returns a damaged copy of a file. */
export function mutated(bytes: Uint8Array, mutation: Mutation, seed: number): Buffer {
  const random = createRandom(seed * 31 + MUTATIONS.indexOf(mutation))
  const copy = Buffer.from(bytes)
  const at = random(copy.length)
  const end = Math.min(copy.length, at + 1 + random(BLOCK))
  switch (mutation) {
    case 'cut':
      return copy.subarray(0, at)
    case 'flipped':
      for (let flip = 0; flip < FLIPS; flip += 1) {
        const place = random(copy.length)
        copy.writeUInt8((copy[place] ?? 0) ^ (1 << random(8)), place)
      }
      return copy
    case 'repeated':
      return Buffer.concat([
        copy.subarray(0, end),
        ...Array.from({ length: 50 }, () => copy.subarray(at, end)),
        copy.subarray(end),
      ])
    case 'removed':
      return Buffer.concat([copy.subarray(0, at), copy.subarray(end)])
    case 'zeroed':
      return copy.fill(0, at, end)
    case 'swapped': {
      const other = random(Math.max(1, copy.length - BLOCK))
      const block = Buffer.from(copy.subarray(at, end))
      copy.copy(copy, at, other, other + block.length)
      block.copy(copy, other)
      return copy
    }
    default:
      return mutation satisfies never
  }
}
