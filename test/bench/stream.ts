import { seededRandom } from '#test/support/artifact.ts'

/**
 * Parts of the sequence of random numbers, so that nothing in the corpus repeats another part of it: see `streamAt`.
 */
const PARTS = { documents: 0, vectors: 0x0400_0000, texts: 0x8400_0000, queries: 0xd000_0000 } as const
const DRAWS = { documents: 1, vectors: 1_024, texts: 512, queries: 1_024 } as const
const STEP = 0x6d2b_79f5

/**
 * Random numbers of one thing by its number: independent of earlier draws, so that any row can be generated on its own.
 * The generator's state grows by a constant with every number, so a stream is an offset in one sequence of 2^32
 * numbers; up to 2,000,000 rows do not overlap.
 */
export function streamAt(seed: number, part: keyof typeof PARTS, number: number): () => number {
  return seededRandom((seed + Math.imul(PARTS[part] + number * DRAWS[part], STEP)) >>> 0)
}
