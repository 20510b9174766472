import type { EmbeddingSpace } from '#core/index/format/manifest.ts'
import { BOUNDS } from '#core/platform/bounds.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import OpenAI, { APIConnectionError, APIError } from 'openai'
import { EmbeddingError, unitVector } from './embedder.ts'
import type { Embedder, EmbeddingRole, Embeddings } from './embedder.ts'

export interface Endpoint {
  /** Undefined: the endpoint of OpenAI. */
  readonly baseUrl: string | undefined
  /** Undefined: no key is sent. */
  readonly apiKey: string | undefined
  /** Total for one call of `embed`, retries included. */
  readonly timeoutMs: number
}

/**
 * Uses any OpenAI-compatible embeddings endpoint. Retries are made here and not by the client: bounded attempts, full
 * jitter, one total deadline.
 */
export function createOpenAiEmbedder(space: EmbeddingSpace, endpoint: Endpoint): Embedder {
  const { model, dimensions } = space
  const client = clientOf(endpoint)
  const prefixes: Readonly<Record<EmbeddingRole, string>> = {
    query: space.query_prefix,
    passage: space.passage_prefix,
  }

  async function once(texts: readonly string[], signal: AbortSignal): Promise<Embeddings> {
    const asked = space.requests_dimensions ? { dimensions } : {}
    const reply = await client.embeddings.create(
      { model, input: [...texts], ...asked, encoding_format: 'base64' },
      { signal },
    )
    const reported: unknown = reply.usage?.prompt_tokens
    return {
      vectors: vectorsOf(reply.data, texts.length, dimensions),
      tokens: typeof reported === 'number' && Number.isInteger(reported) && reported >= 0 ? reported : null,
      overlong: 0,
    }
  }

  async function untilAnswered(texts: readonly string[], total: AbortSignal): Promise<Embeddings> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await once(texts, total)
      } catch (error) {
        if (total.aborted || attempt >= BOUNDS.embedAttemptsMax || !isTransient(error)) throw asEmbeddingError(error)
        const ceiling = Math.min(BOUNDS.embedBackoffMaxMs, BOUNDS.embedBackoffFirstMs * 2 ** (attempt - 1))
        await sleep(Math.random() * ceiling, undefined, { signal: total }).catch(() => undefined)
        if (total.aborted) throw asEmbeddingError(error)
      }
    }
  }

  return {
    space,
    async embed(texts, role, signal) {
      const ending = new AbortController()
      const end = (): void => ending.abort()
      const timer = setTimeout(end, endpoint.timeoutMs)
      if (signal.aborted) end()
      signal.addEventListener('abort', end, { once: true })
      try {
        return await untilAnswered(
          texts.map((text) => prefixes[role] + text),
          ending.signal,
        )
      } finally {
        clearTimeout(timer)
        signal.removeEventListener('abort', end)
      }
    },
  }
}

function clientOf({ baseUrl, apiKey, timeoutMs }: Endpoint): OpenAI {
  return new OpenAI({
    apiKey: apiKey ?? 'none',
    // The library demands a key; a server without keys is sent none.
    ...(apiKey === undefined ? { defaultHeaders: { authorization: null } } : {}),
    ...(baseUrl === undefined ? {} : { baseURL: baseUrl }),
    maxRetries: 0,
    timeout: timeoutMs,
    logLevel: 'off',
  })
}

/** Returns the number of dimensions that a model has, by embedding one word. */
export async function learnDimensions(endpoint: Endpoint, model: string, signal: AbortSignal): Promise<number> {
  try {
    const reply = await clientOf(endpoint).embeddings.create(
      { model, input: ['dimensions'], encoding_format: 'base64' },
      { signal },
    )
    const [replied]: (RepliedVector | undefined)[] = reply.data
    if (replied === undefined) throw new EmbeddingError('the provider sent no vector')
    return valuesOf(replied.embedding).length
  } catch (error) {
    throw asEmbeddingError(error)
  }
}

interface RepliedVector {
  readonly index: number
  readonly embedding: string | readonly number[]
}

/**
 * Returns the vectors in the order of the texts.
 * @throws EmbeddingError unless the reply holds exactly one vector for each text.
 */
function vectorsOf(replied: RepliedVector[], texts: number, dimensions: number): Float32Array<ArrayBuffer>[] {
  if (!Array.isArray(replied) || replied.length !== texts)
    throw new EmbeddingError('the provider sent another number of vectors than texts')
  const vectors = new Array<Float32Array<ArrayBuffer>>(texts)
  for (const { index, embedding } of replied) {
    if (!Number.isInteger(index) || index < 0 || index >= texts || vectors[index] !== undefined)
      throw new EmbeddingError('the provider numbered its vectors wrongly')
    vectors[index] = unitVector(valuesOf(embedding), dimensions)
  }
  return vectors
}

/**
 * Reads little-endian float32 in base64, as requested, which takes a quarter of the bytes. Some endpoints send numbers
 * instead.
 */
function valuesOf(embedding: string | readonly number[]): ArrayLike<number> {
  if (typeof embedding !== 'string') return embedding
  const bytes = Buffer.from(embedding, 'base64')
  if (bytes.length % 4 !== 0) throw new EmbeddingError('the provider sent a vector that is not float32')
  const values = new Float32Array(bytes.length / 4)
  new Uint8Array(values.buffer).set(bytes)
  return values
}

function isTransient(error: unknown): boolean {
  if (error instanceof APIConnectionError) return true
  return error instanceof APIError && (error.status === 429 || error.status === 408 || (error.status ?? 0) >= 500)
}

/** Provider errors may contain the input, so only their kind and status are kept. */
function asEmbeddingError(error: unknown): EmbeddingError {
  if (error instanceof EmbeddingError) return error
  if (error instanceof APIError && error.status !== undefined)
    return new EmbeddingError(`the embedding provider answered with status ${error.status}`)
  return new EmbeddingError('the embedding provider could not be reached in time')
}
