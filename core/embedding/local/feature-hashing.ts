import { fnv1a, fnvSeed } from '#core/index/analysis/fnv.ts'

const GOLDEN = 0x9e3779b9

/** MurmurHash3's finaliser: every input bit affects every output bit. Unsigned 32 bits. */
function mix(value: number): number {
  let hash = value ^ (value >>> 16)
  hash = Math.imul(hash, 0x85ebca6b)
  hash ^= hash >>> 13
  hash = Math.imul(hash, 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

/** FNV-1a over the UTF-16 units in [start, end), mixed. Unsigned 32 bits. */
export function hashUnits(text: string, start: number, end: number, seed: number): number {
  return mix(fnv1a(text, fnvSeed(seed), start, end))
}

/**
 * Adds one feature to a vector by signed hashing (Weinberger et al. 2009, "Feature Hashing for Large Scale Multitask
 * Learning"): so many pseudo-random `components` get ±weight / √components. Features are orthogonal in expectation, and two that
 * collide in one component differ in the others.
 */
export function addHashed(vector: Float64Array, featureHash: number, weight: number, components: number): void {
  const step = weight / Math.sqrt(components)
  for (let component = 1; component <= components; component++) {
    const drawn = mix(featureHash + Math.imul(component, GOLDEN))
    const at = (drawn >>> 1) % vector.length
    vector[at] = (vector[at] ?? 0) + ((drawn & 1) === 0 ? step : -step)
  }
}

/** Adds a pseudo-random direction of the given length, nearly orthogonal to that of any other seed. */
export function addNoise(vector: Float64Array, seed: number, length: number): void {
  const step = length / Math.sqrt(vector.length)
  let bits = 0
  for (let at = 0; at < vector.length; at++) {
    if ((at & 31) === 0) bits = mix(seed + Math.imul(at + 1, GOLDEN))
    vector[at] = (vector[at] ?? 0) + ((bits & 1) === 0 ? step : -step)
    bits >>>= 1
  }
}
