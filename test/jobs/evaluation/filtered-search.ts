import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FilteredRecall } from '#jobs/evaluation/filtered-questions.ts'
import { SELECTIVITIES } from '#jobs/evaluation/filtered-questions.ts'
import { folderOfTest } from '#test/support/folder.ts'
import { seededRandom, unit } from '#test/support/passages.ts'

export const VECTOR_DIMENSIONS = 8
export type Vectors = readonly Float32Array[]

/** Random vectors of eight dimensions and unit length. */
export function randomVectors(count: number, seed: number): Vectors {
  const random = seededRandom(seed)
  return Array.from({ length: count }, () =>
    unit(Float32Array.from({ length: VECTOR_DIMENSIONS }, () => random() - 0.5)),
  )
}

/** Writes the file of vectors that an artifact would have. @returns its folder. */
export function storeVectors(vectors: Vectors): string {
  const folder = folderOfTest()
  writeFileSync(join(folder, 'vectors.f32'), Buffer.concat(vectors.map((vector) => Buffer.from(vector.slice().buffer))))
  return folder
}

function similarity(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0)
}

export const isSet = (bits: Uint8Array, row: number): boolean => ((bits[row >>> 3] ?? 0) & (1 << (row & 7))) !== 0

/** The best rows by brute force of those that may be found. */
export function bestRows(
  vectors: Vectors,
  query: Float32Array,
  may: (row: number) => boolean,
  limit: number,
): readonly number[] {
  const scores = vectors.map((vector) => similarity(vector, query))
  return [...vectors.keys()]
    .filter(may)
    .sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0))
    .slice(0, limit)
}

/** The best rows of those that a filter allows. */
export function bestAllowed(vectors: Vectors, query: Float32Array, bits: Uint8Array, limit: number): readonly number[] {
  return bestRows(vectors, query, (row) => isSet(bits, row), limit)
}

export const everywhere = (value: number): FilteredRecall => {
  const recall = Object.fromEntries(SELECTIVITIES.map((name) => [name, value]))
  return { random: recall, near: recall, far: recall }
}
