import type { EmbeddingSpace } from '#core/index/format/manifest.ts'
import { EndpointFailure, type EndpointAddress } from '#core/platform/json-endpoint.ts'
import { EMBEDDING_BOUNDS } from './bounds.ts'
import { EmbeddingError, unitVector } from './embedder.ts'
import type { EmbeddedTexts, Embedder, EmbeddingRole, Embeddings } from './embedder.ts'
import { PROBES, assertProbes } from './probes.ts'
import { createSend, isRefusal, type EmbeddingsReply, type RepliedVector } from './requests.ts'
import { estimateTokens, type Clock, type SendPolicy } from './sending.ts'

export interface OpenAiOptions {
  readonly endpoint: EndpointAddress
  readonly clock: Clock
  readonly policies: Readonly<Record<EmbeddingRole, SendPolicy>>
  /** Texts of one request. Where the endpoint refuses so many, the embedder goes on with fewer. */
  readonly requestTexts: number
  /** Tokens of one text that the model embeds, if known. */
  readonly tokensMax: number | undefined
  /** The endpoint embeds a longer text in windows. */
  readonly windows?: boolean
}

/** Embeds the texts of one request. @throws EndpointFailure, EmbeddingError */
type EmbedOnce = (texts: readonly string[], first: number, call: Calling) => Promise<Embeddings>

function onceInto(space: EmbeddingSpace, { endpoint, clock, tokensMax }: OpenAiOptions): EmbedOnce {
  const { model, dimensions, requests_dimensions } = space
  const send = createSend(endpoint, { model, ...(requests_dimensions ? { dimensions } : {}) }, clock)
  return async (texts, first, { policy, signal }) => {
    const reply = await send({ texts, policy, signal })
    assertModel(space, reply)
    const vectors = vectorsOf(reply.data, { first, count: texts.length }, dimensions)
    return { vectors, tokens: reply.tokens, overlong: overlongOf(texts, reply, tokensMax) }
  }
}

/** Embeds into a known space through any OpenAI-compatible embeddings endpoint. */
export function createOpenAiEmbedder(space: EmbeddingSpace, options: OpenAiOptions): Embedder {
  const { policies, tokensMax } = options
  const embedOnce = onceInto(space, options)
  const prefixes = { query: space.query_prefix, passage: space.passage_prefix }
  let requestTexts = options.requestTexts

  async function embedAll(texts: readonly string[], offset: number, call: Calling): Promise<Embeddings> {
    const parts: Embeddings[] = []
    for (let from = 0; from < texts.length;) {
      const most = texts.slice(from, from + requestTexts)
      const cut = most.findIndex((text) => isCut(text, call))
      // A text that is cut is asked about alone.
      const part = cut === -1 ? most : most.slice(0, Math.max(1, cut))
      parts.push(await embedPart(part, offset + from, call))
      from += part.length
    }
    return joined(parts)
  }

  /** Whether the endpoint takes only a part of a query. What it does with a longer text is not known: it may cut it. */
  function isCut(text: string, { role }: Calling): boolean {
    return role === 'query' && options.windows !== true && estimateTokens(text) > (tokensMax ?? Infinity)
  }

  /** Halves what the endpoint refuses: a refusal does not say reliably whether texts are too many or too long. */
  async function embedPart(texts: readonly string[], first: number, call: Calling): Promise<Embeddings> {
    const about = { first, count: texts.length }
    const [text = ''] = texts
    /** Undefined: no query, or one that is no longer than a window. */
    const inWindows = (): Promise<Embeddings> | undefined => {
      const windows = call.role === 'query' && texts.length === 1 ? windowsOf(text, prefixes.query) : []
      return windows.length > 1 ? meanOf(embedOnce, windows, first, call) : undefined
    }
    try {
      const mean = isCut(text, call) ? await inWindows() : undefined
      return mean ?? (await embedOnce(texts, first, call).catch((error: unknown) => refused(error, inWindows)))
    } catch (error) {
      if (!isRefusal(error) || texts.length === 1) throw asEmbeddingError(error, about, texts, tokensMax)
    }
    const half = Math.ceil(texts.length / 2)
    const before = await embedPart(texts.slice(0, half), first, call)
    requestTexts = Math.min(requestTexts, half)
    return joined([before, await embedAll(texts.slice(half), first + half, call)])
  }

  // Until the first reply, and again after a failure: the endpoint may have come back with another model.
  let isProved = false
  async function prove(call: Calling): Promise<void> {
    if (space.probes === undefined || isProved) return
    const texts = PROBES.map((text) => prefixes.query + text)
    assertProbes(space, (await embedAll(texts, 0, call)).vectors)
    isProved = true
  }

  return {
    space,
    ...(options.windows === true ? { windows: true } : {}),
    async embed(texts, role, signal) {
      const prefixed = texts.map((text) => prefixes[role] + text)
      const call = { role, policy: policies[role], signal }
      try {
        // Side by side, so that the first query waits no longer than its bound.
        const [embedded] = await Promise.all([embedAll(prefixed, 0, call), prove(call)])
        return embedded
      } catch (error) {
        isProved = false
        throw error
      }
    },
  }
}

/**
 * A vector of another model than the version's would compare with none of its passages.
 * @throws EmbeddingError where the version pins a digest and the reply tells another one, or none.
 */
function assertModel({ model, model_digest }: EmbeddingSpace, { modelDigest }: EmbeddingsReply): void {
  if (model_digest === undefined || modelDigest === model_digest) return
  throw new EmbeddingError(
    `the endpoint serves another ${model} than the version was built with (digest ${modelDigest ?? 'not told'}, ` +
      `expected ${model_digest})`,
    { permanent: true },
  )
}

const { embedQueryWindowCharacters: WINDOW_CHARACTERS } = EMBEDDING_BOUNDS
const WINDOW = new RegExp(`[^]{1,${WINDOW_CHARACTERS}}(?=\\s|$)|[^]{1,${WINDOW_CHARACTERS}}`, 'gu')

/**
 * Cuts a query with its prefix into windows that any endpoint takes, at spaces where it has them. Each has the prefix.
 */
function windowsOf(prefixed: string, prefix: string): readonly string[] {
  return (prefixed.slice(prefix.length).match(WINDOW) ?? [])
    .map((window) => prefix + window.trim())
    .filter((window) => window !== prefix)
}

/** The mean of the windows of a query, which take one request. */
async function meanOf(embedOnce: EmbedOnce, windows: readonly string[], first: number, call: Calling) {
  const { vectors, tokens } = await embedOnce(windows, first, call)
  const sums = new Float64Array(vectors[0]?.length ?? 0)
  for (const vector of vectors) for (const [at, value] of vector.entries()) sums[at] = (sums[at] ?? 0) + value
  return { vectors: [unitVector(sums, sums.length, { first, count: 1 })], tokens, overlong: 0 }
}

/** @returns the query in windows, where a refusal may be for its length. @throws the error otherwise. */
function refused(error: unknown, inWindows: () => Promise<Embeddings> | undefined): Promise<Embeddings> {
  const mean = isRefusal(error) ? inWindows() : undefined
  if (mean === undefined) throw error
  return mean
}

interface Calling {
  readonly role: EmbeddingRole
  readonly policy: SendPolicy
  readonly signal: AbortSignal
}

function joined(parts: readonly Embeddings[]): Embeddings {
  const known = parts.map(({ tokens }) => tokens).filter((tokens) => tokens !== null)
  return {
    vectors: parts.flatMap(({ vectors }) => vectors),
    tokens: known.length < parts.length ? null : known.reduce((sum, tokens) => sum + tokens, 0),
    overlong: parts.reduce((sum, { overlong }) => sum + overlong, 0),
  }
}

/**
 * Counts the texts that probably exceed the limit. A text that is sent alone is judged by the tokens that the endpoint
 * reports. Of several, as many as their bytes suggest, and no more than the reported tokens can hold.
 */
function overlongOf(texts: readonly string[], { tokens }: EmbeddingsReply, tokensMax: number | undefined): number {
  if (tokensMax === undefined) return 0
  if (texts.length === 1 && tokens !== null) return tokens >= tokensMax ? 1 : 0
  const estimated = texts.filter((text) => estimateTokens(text) > tokensMax).length
  return tokens === null ? estimated : Math.min(estimated, Math.floor(tokens / tokensMax))
}

export type ProbedModel = Awaited<ReturnType<typeof probeModel>>

/** Returns the dimensions of a model's vectors and its digest, if the endpoint tells one, by embedding one word. */
export async function probeModel(
  asked: { readonly model: string; readonly dimensions?: number },
  { endpoint, clock, policies }: OpenAiOptions,
  signal: AbortSignal,
) {
  const about = { first: 0, count: 1 }
  const texts = ['dimensions']
  try {
    const { data, modelDigest } = await createSend(endpoint, asked, clock)({ texts, policy: policies.passage, signal })
    const [vector] = data
    if (vector === undefined) throw new EmbeddingError('the provider sent no vector')
    return { dimensions: valuesOf(vector.embedding, about).length, modelDigest }
  } catch (error) {
    throw asEmbeddingError(error, about, texts, undefined)
  }
}

/**
 * Returns the vectors in the order of the texts.
 * @throws EmbeddingError unless the reply holds exactly one valid vector for each text.
 */
function vectorsOf(replied: readonly RepliedVector[], about: EmbeddedTexts, dimensions: number) {
  if (replied.length !== about.count)
    throw new EmbeddingError('the provider sent another number of vectors than texts', { texts: about })
  const vectors = new Array<Float32Array<ArrayBuffer>>(about.count)
  for (const { index, embedding } of replied) {
    if (index < 0 || index >= about.count || vectors[index] !== undefined)
      throw new EmbeddingError('the provider numbered its vectors wrongly', { texts: about })
    const text = { first: about.first + index, count: 1 }
    vectors[index] = unitVector(valuesOf(embedding, text), dimensions, text)
  }
  return vectors
}

/** Reads base64, as requested. Some endpoints send numbers all the same. */
function valuesOf(embedding: RepliedVector['embedding'], about: EmbeddedTexts): ArrayLike<unknown> {
  if (typeof embedding !== 'string') return embedding
  const bytes = Buffer.from(embedding, 'base64')
  // The decoder skips what is not base64, so that any text would become some vector.
  if (bytes.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(embedding))
    throw new EmbeddingError('the provider sent a vector that is not float32', { texts: about })
  const values = new Float32Array(bytes.length / 4)
  new Uint8Array(values.buffer).set(bytes)
  return values
}

function asEmbeddingError(
  error: unknown,
  about: EmbeddedTexts,
  texts: readonly string[],
  tokensMax: number | undefined,
): EmbeddingError {
  if (error instanceof EmbeddingError) return error
  if (!(error instanceof EndpointFailure)) throw error
  const [text = ''] = texts
  const long = tokensMax !== undefined && isRefusal(error) && estimateTokens(text) > tokensMax
  const why = long ? `: the text is probably longer than the ${tokensMax} tokens of the model` : ''
  return new EmbeddingError(error.message + why, {
    texts: about,
    permanent: !error.transient && error.status !== undefined,
    retryAfterMs: error.retryAfterMs,
  })
}
