import { seededRandom } from '#test/support/artifact.ts'
import { inventedText } from './corpus.ts'
import { drawTopic } from './vectors.ts'
import type { Space } from './vectors.ts'

/** A question and its place in the space: what the provider will say of its text. Not a passage of the corpus. */
export interface Query {
  readonly text: string
  /** Any length, in a buffer of its own. */
  readonly vector: Float32Array<ArrayBuffer>
}

const QUERIES = 1_000
/** The first so many are compared with the exact answer. */
export const COMPARED_QUERIES = 200
const QUERY_CHARACTERS = 90

export function inventQueries(space: Space, seed: number): readonly Query[] {
  const random = seededRandom(seed + 3)
  return Array.from({ length: QUERIES }, (_, number) => ({
    text: `Question ${number}: ${inventedText(random, QUERY_CHARACTERS)}`,
    vector: space.draw(drawTopic(random()), random),
  }))
}
