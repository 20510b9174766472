import type { EmbeddingSpace, Manifest } from '#core/index/format/manifest.ts'

/** A space without prefixes. */
export function spaceOf(dimensions: number, change: Partial<EmbeddingSpace> = {}): EmbeddingSpace {
  return {
    provider: 'local',
    model: 'test',
    dimensions,
    query_prefix: '',
    passage_prefix: '',
    requests_dimensions: false,
    ...change,
  }
}

/** The embedding space of a version that is known to have vectors. @throws Error if it has none. */
export function spaceOfVectors({ embedding }: Pick<Manifest, 'embedding'>): EmbeddingSpace {
  if (embedding === undefined) throw new Error('the version has no vectors')
  return embedding
}
