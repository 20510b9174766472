import type { VectorEntry } from '#core/db/vector-cache/cache.ts'
import { sha256 } from '#core/platform/digest.ts'

export const ENTRY_DIMENSIONS = 256
export const ENTRY_SPACE = JSON.stringify(['openai', 'e5', ENTRY_DIMENSIONS])

/** An entry of the vector cache; every number has a text and a unit vector of its own. */
export function vectorEntry(number: number, dimensions = ENTRY_DIMENSIONS): VectorEntry {
  const vector = new Float32Array(dimensions)
  vector[number % dimensions] = Math.cos(number)
  vector[(number + 1) % dimensions] = Math.sin(number)
  return { digest: sha256(`text ${number}`), vector, overlong: number % 3 === 0 }
}

export function vectorEntries(from: number, to: number): readonly VectorEntry[] {
  return Array.from({ length: to - from }, (_, at) => vectorEntry(from + at))
}
