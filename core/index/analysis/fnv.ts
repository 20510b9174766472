export const OFFSET_BASIS = 0x811c_9dc5
const PRIME = 0x0100_0193

/**
 * FNV-1a (Fowler, Noll & Vo) over the UTF-16 units in [from, to); no part of the text is copied.
 * @param hash of the preceding text, or a seed.
 * @returns 32 bits, signed.
 */
export function fnv1a(text: string, hash: number = OFFSET_BASIS, from = 0, to = text.length): number {
  let mixed = hash
  for (let at = from; at < to; at++) mixed = Math.imul(mixed ^ text.charCodeAt(at), PRIME)
  return mixed
}

/** Returns the initial hash of a seed. */
export function fnvSeed(seed: number): number {
  return OFFSET_BASIS ^ seed
}

export function nextHash(hash: number, unit: number): number {
  return Math.imul(hash ^ unit, PRIME)
}
