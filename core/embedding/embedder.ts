import type { EmbeddingSpace } from '#core/index/format/manifest.ts'

/** Who embeds the passages of a version; `none`: it has no vectors, and is ranked by words alone. */
export const EMBEDDINGS = ['none', 'openai'] as const
export type Embedding = (typeof EMBEDDINGS)[number]

/** Many models embed a query and a passage in different ways. */
export type EmbeddingRole = 'query' | 'passage'

export interface Embeddings {
  /** One vector per text, in order; unit length, finite, `space.dimensions` long. */
  readonly vectors: readonly Float32Array<ArrayBuffer>[]
  /** Tokens that the provider reported; null if it reported none. */
  readonly tokens: number | null
  /**
   * Passages that are probably longer than the model's limit. Unless the embedder has windows, their end was not
   * embedded. A query is always embedded whole: where the endpoint does not take it, as the mean of windows.
   * 0: none, or no limit.
   */
  readonly overlong: number
}

export interface Embedder {
  readonly space: EmbeddingSpace
  /** Texts that are longer than the model's limit are embedded in windows, so `overlong` ones are not cut. */
  readonly windows?: true
  /** The prefix of the role is added here; texts come without it. Any number of texts is taken. */
  embed(texts: readonly string[], role: EmbeddingRole, signal: AbortSignal): Promise<Embeddings>
}

/** Earlier releases hashed words themselves. */
export const LOCAL_VERSION =
  'The version was built with the local embedder, which this release lacks: build it again with --embedding none, or ' +
  'with a model, and activate that.'

/** @param embedder undefined: of a version without vectors. */
export function embeddingOf(embedder: Embedder | undefined): Embedding {
  return embedder === undefined ? 'none' : 'openai'
}

/** The provider failed, was too slow, or sent invalid vectors. The error never contains the texts. */
export class EmbeddingError extends Error {
  override readonly name = 'EmbeddingError'
  /** The texts of the call that it is about; undefined: the call as a whole. */
  readonly texts: EmbeddedTexts | undefined
  /** A repetition cannot help: the endpoint refuses the request or the text, or gives vectors of another space. */
  readonly permanent: boolean
  /** Time after which the endpoint accepts requests again, as it states. */
  readonly retryAfterMs: number | undefined

  constructor(
    message: string,
    about: {
      readonly texts?: EmbeddedTexts
      readonly permanent?: boolean
      readonly retryAfterMs?: number | undefined
    } = {},
  ) {
    super(message)
    this.retryAfterMs = about.retryAfterMs
    this.texts = about.texts
    this.permanent = about.permanent ?? false
  }
}

/** Texts of one call of `embed`: index of the first, and their number. One text is the cause itself. */
export interface EmbeddedTexts {
  readonly first: number
  readonly count: number
}

/** Returns a text that is equal for equal spaces and for no others. */
export function spaceKey(space: EmbeddingSpace): string {
  const { provider, model, dimensions, query_prefix, passage_prefix, requests_dimensions, model_digest } = space
  const key = [provider, model, dimensions, query_prefix, passage_prefix, requests_dimensions]
  return JSON.stringify(model_digest === undefined ? key : [...key, model_digest])
}

/**
 * Checks one vector of a provider and returns it at unit length.
 * @throws EmbeddingError for a wrong length, a non-finite value, or a zero norm.
 */
export function unitVector(values: ArrayLike<unknown>, dimensions: number, texts?: EmbeddedTexts) {
  const about = texts === undefined ? {} : { texts }
  if (values.length !== dimensions)
    throw new EmbeddingError(`the provider sent ${values.length} dimensions, and the space has ${dimensions}`, {
      ...about,
      permanent: true,
    })
  let squares = 0
  const numbers = new Float64Array(dimensions)
  for (let i = 0; i < dimensions; i++) {
    // The value came over the network; a numeric string would otherwise be converted to its number.
    const value = values[i]
    numbers[i] = typeof value === 'number' ? value : Number.NaN
    squares += (numbers[i] ?? 0) ** 2
  }
  const norm = Math.sqrt(squares)
  if (!Number.isFinite(norm)) throw new EmbeddingError('the provider sent a vector that is not finite', about)
  if (norm === 0) throw new EmbeddingError('the provider sent a vector of length zero', about)
  const unit = new Float32Array(dimensions)
  for (let i = 0; i < dimensions; i++) unit[i] = (numbers[i] ?? 0) / norm
  return unit
}
