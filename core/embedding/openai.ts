import { setTimeout as sleep } from 'node:timers/promises'
import OpenAI, { APIConnectionError, APIError } from 'openai'
import { EmbeddingError, unitVector } from './embedder.ts'
import type { Embedder, Embeddings } from './embedder.ts'

export interface OpenAiOptions {
  readonly baseUrl: string | undefined
  readonly apiKey: string
  readonly model: string
  readonly dimensions: number
  /** Total for one call of `embed`, retries included. */
  readonly timeoutMs: number
}

const ATTEMPTS_MAX = 3
const BACKOFF_FIRST_MS = 100
const BACKOFF_MAX_MS = 1_000

/**
 * Any OpenAI-compatible embeddings endpoint. The retry budget is ours: bounded attempts, full jitter, one total
 * deadline.
 */
export function openAiEmbedder(options: OpenAiOptions): Embedder {
  const { model, dimensions } = options
  const client = new OpenAI({
    apiKey: options.apiKey,
    ...(options.baseUrl === undefined ? {} : { baseURL: options.baseUrl }),
    maxRetries: 0,
    timeout: options.timeoutMs,
    logLevel: 'off',
  })

  async function once(texts: readonly string[], signal: AbortSignal): Promise<Embeddings> {
    const reply = await client.embeddings.create(
      { model, input: [...texts], dimensions, encoding_format: 'base64' },
      { signal },
    )
    if (!Array.isArray(reply.data) || reply.data.length !== texts.length)
      throw new EmbeddingError('the provider sent another number of vectors than texts')
    const vectors = new Array<Float32Array<ArrayBuffer>>(texts.length)
    for (const item of reply.data) {
      if (
        !Number.isInteger(item.index) ||
        item.index < 0 ||
        item.index >= texts.length ||
        vectors[item.index] !== undefined
      )
        throw new EmbeddingError('the provider numbered its vectors wrongly')
      vectors[item.index] = unitVector(valuesOf(item.embedding), dimensions)
    }
    const reported: unknown = reply.usage?.prompt_tokens
    return {
      vectors,
      tokens: typeof reported === 'number' && Number.isInteger(reported) && reported >= 0 ? reported : null,
    }
  }

  async function untilAnswered(texts: readonly string[], total: AbortSignal): Promise<Embeddings> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await once(texts, total)
      } catch (error) {
        if (total.aborted || attempt >= ATTEMPTS_MAX || !isTransient(error)) throw asEmbeddingError(error)
        const ceiling = Math.min(BACKOFF_MAX_MS, BACKOFF_FIRST_MS * 2 ** (attempt - 1))
        await sleep(Math.random() * ceiling, undefined, { signal: total }).catch(() => undefined)
        if (total.aborted) throw asEmbeddingError(error)
      }
    }
  }

  return {
    space: { provider: 'openai', model, dimensions },
    async embed(texts, signal) {
      const ending = new AbortController()
      const end = (): void => ending.abort()
      const timer = setTimeout(end, options.timeoutMs)
      if (signal.aborted) end()
      signal.addEventListener('abort', end, { once: true })
      try {
        return await untilAnswered(texts, ending.signal)
      } finally {
        clearTimeout(timer)
        signal.removeEventListener('abort', end)
      }
    },
  }
}

/**
 * Little-endian float32 in base64, as asked for: a quarter of the bytes; or numbers, from an endpoint that knows only
 * those.
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

/** Provider errors may quote the input back; only their kind and status are kept. */
function asEmbeddingError(error: unknown): EmbeddingError {
  if (error instanceof EmbeddingError) return error
  if (error instanceof APIError && error.status !== undefined)
    return new EmbeddingError(`the embedding provider answered with status ${error.status}`)
  return new EmbeddingError('the embedding provider could not be reached in time')
}
