import type { EmbeddingSpace } from '#core/index/format/manifest.ts'

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
