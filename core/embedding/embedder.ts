import type { EmbeddingSpace } from '#core/index/format/manifest.ts'

/** Many models embed a query and a passage in different ways. */
export type EmbeddingRole = 'query' | 'passage'

export interface Embeddings {
  /** One vector per text, in order; unit length, finite, `space.dimensions` long. */
  readonly vectors: readonly Float32Array<ArrayBuffer>[]
  /** As reported by the provider; null if it reported none. */
  readonly tokens: number | null
  /** Texts that are probably longer than the model's limit, so that the end was not embedded. 0: none, or no limit. */
  readonly overlong: number
}

/** Embeds texts in one embedding space. Throws only `EmbeddingError`. */
export interface Embedder {
  readonly space: EmbeddingSpace
  /** The prefix of the role is added here; texts come without it. Any number of texts is taken. */
  embed(texts: readonly string[], role: EmbeddingRole, signal: AbortSignal): Promise<Embeddings>
}

/** The provider failed, was too slow, or sent invalid vectors. The error never contains the texts. */
export class EmbeddingError extends Error {
  override readonly name = 'EmbeddingError'
}

export function sameSpace(a: EmbeddingSpace, b: EmbeddingSpace): boolean {
  return spaceKey(a) === spaceKey(b)
}

/** Returns a text that is equal for equal spaces and for no others. */
export function spaceKey(space: EmbeddingSpace): string {
  const { provider, model, dimensions, query_prefix, passage_prefix, requests_dimensions } = space
  return JSON.stringify([provider, model, dimensions, query_prefix, passage_prefix, requests_dimensions])
}

/**
 * Checks one vector of a provider and returns it at unit length.
 * @throws EmbeddingError for a wrong length, a non-finite value, or a zero norm.
 */
export function unitVector(values: ArrayLike<number>, dimensions: number): Float32Array<ArrayBuffer> {
  if (values.length !== dimensions)
    throw new EmbeddingError(`the provider sent ${values.length} dimensions where ${dimensions} were asked for`)
  let squares = 0
  for (let i = 0; i < dimensions; i++) {
    // The value came over the network; a numeric string would otherwise be converted to its number.
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
