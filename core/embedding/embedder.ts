import type { EmbeddingSpace } from '#core/index/format/manifest.ts'

export interface Embeddings {
  /** One vector per text, in order; unit length, finite, `space.dimensions` long. */
  readonly vectors: readonly Float32Array<ArrayBuffer>[]
  /** As the provider reported them; null when it did not. */
  readonly tokens: number | null
}

/** Turns texts into vectors of one space. Throws `EmbeddingError` and nothing else. */
export interface Embedder {
  readonly space: EmbeddingSpace
  embed(texts: readonly string[], signal: AbortSignal): Promise<Embeddings>
}

/** The provider failed, was too slow, or sent vectors that cannot be trusted. Never carries the texts. */
export class EmbeddingError extends Error {
  override readonly name = 'EmbeddingError'
}

export function sameSpace(a: EmbeddingSpace, b: EmbeddingSpace): boolean {
  return a.provider === b.provider && a.model === b.model && a.dimensions === b.dimensions
}

/**
 * Checks one provider vector and returns it at unit length.
 * @throws EmbeddingError wrong length, a non-finite value, or a zero norm.
 */
export function unitVector(values: ArrayLike<number>, dimensions: number): Float32Array<ArrayBuffer> {
  if (values.length !== dimensions)
    throw new EmbeddingError(`the provider sent ${values.length} dimensions where ${dimensions} were asked for`)
  let squares = 0
  for (let i = 0; i < dimensions; i++) {
    // It came over the network: a text would count as the number that it spells.
    const value: unknown = values[i]
    squares += typeof value === 'number' ? value ** 2 : Number.NaN
  }
  const norm = Math.sqrt(squares)
  if (!Number.isFinite(norm)) throw new EmbeddingError('the provider sent a vector that is not finite')
  if (norm === 0) throw new EmbeddingError('the provider sent a vector of length zero')
  const unit = new Float32Array(dimensions)
  for (let i = 0; i < dimensions; i++) unit[i] = (values[i] ?? 0) / norm
  return unit
}
