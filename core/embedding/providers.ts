import { z } from 'zod'
import { embeddingSpaceSchema, modelDigestSchema, prefixSchema } from '#core/index/format/manifest.ts'
import type { EmbeddingSpace } from '#core/index/format/manifest.ts'
import { INDEX_BOUNDS } from '#core/index/bounds.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { EndpointFailure, askJson, type EndpointAddress } from '#core/platform/json-endpoint.ts'
import { EMBEDDING_BOUNDS } from './bounds.ts'
import { EmbeddingError, LOCAL_VERSION, type Embedder } from './embedder.ts'
import { knownModel } from './known-models.ts'
import { createOpenAiEmbedder, probeModel, type OpenAiOptions, type ProbedModel } from './openai.ts'
import { buildPolicy, queryPolicy, systemClock } from './sending.ts'
import type { EndpointOptions } from './settings.ts'

export const OPENAI_BASE_URL = 'https://api.openai.com/v1'

/** The endpoint, which embeds into a space that is known. */
export interface EndpointSettings {
  readonly OPENAI_BASE_URL: string | undefined
  readonly OPENAI_API_KEY: string | undefined
  /** Total for one query whose caller waits, retries included. Undefined: queries are retried as passages are. */
  readonly OPENAI_TIMEOUT_MS?: number | undefined
}

const DEFAULT_MODEL = 'text-embedding-3-small'

/**
 * Opens the embedder of a new version. One request shows that the endpoint accepts the settings, and how many
 * dimensions its vectors have; its list of models tells prefixes and limit, where it does.
 * @param warn takes a sentence about a model whose prefixes are neither told, known nor configured.
 * @throws OperatorError when the provider lacks what it needs, or refuses the settings; EmbeddingError when it fails.
 */
export async function openEmbedder(
  settings: EndpointSettings,
  asked: EndpointOptions,
  signal: AbortSignal,
  warn: (sentence: string) => void = () => undefined,
): Promise<Embedder> {
  const { dimensions: wanted, query_prefix: query, passage_prefix: passage } = asked
  const options = optionsOf(settings, asked)
  const listed = await listedModels(options, signal)
  const model = asked.model ?? listedModel(listed)
  const probe = await probed(model, wanted, options, signal)
  const { dimensions, modelDigest } = probe
  const served = toldOf(model, listed, probe)
  const known = knownModel(model)
  const prompts = served?.prompts ?? (known && { query: known.query_prefix, passage: known.passage_prefix })
  if (prompts === undefined && (query === undefined || passage === undefined)) warn(prefixWarning(model))
  const space = embeddingSpaceSchema.parse({
    provider: 'openai',
    model,
    dimensions,
    query_prefix: query ?? prompts?.query ?? '',
    passage_prefix: passage ?? prompts?.passage ?? '',
    requests_dimensions: wanted !== undefined,
    ...(modelDigest === undefined ? {} : { model_digest: modelDigest }),
  })
  const tokensMax = asked.tokens_max ?? served?.max_tokens ?? known?.tokensMax
  return createOpenAiEmbedder(space, { ...options, tokensMax, windows: served?.long_texts === 'windows' })
}

/** What an endpoint tells of a model; most endpoints tell no more than its name. A value that is not valid is none. */
const modelSchema = z.object({
  id: z.string().min(1),
  dimensions: z.int().positive().optional().catch(undefined),
  /** Tokens that the model reads at once. */
  max_tokens: z.int().positive().max(EMBEDDING_BOUNDS.embedTokensMax).optional().catch(undefined),
  digest: modelDigestSchema.optional().catch(undefined),
  /** Put before a text; each is written by the caller. */
  prompts: z.object({ query: prefixSchema, passage: prefixSchema }).optional().catch(undefined),
  /** A longer text is embedded in windows, to its end. */
  long_texts: z.literal('windows').optional().catch(undefined),
})

const listSchema = z.object({ data: z.array(modelSchema).max(EMBEDDING_BOUNDS.servedModelsMax) })

/**
 * Asks an endpoint for its models, once.
 * @returns undefined where the reply is no list of models.
 * @throws EndpointFailure where it does not answer, or refuses.
 */
async function readServedModels(endpoint: EndpointAddress, signal: AbortSignal) {
  const reply = await askJson(endpoint, '/models', {
    timeoutMs: EMBEDDING_BOUNDS.servedModelsTimeoutMs,
    replyBytesMax: EMBEDDING_BOUNDS.servedModelsBytesMax,
    signal,
  })
  return listSchema.safeParse(reply).data?.data
}

type Listed = Awaited<ReturnType<typeof listedModels>>

/**
 * @returns no `models` where the endpoint tells no list, as many do (then configuration and known models count), with a
 * `failure` where it did not answer and may tell one later.
 */
async function listedModels({ endpoint }: OpenAiOptions, signal: AbortSignal) {
  try {
    return { models: await readServedModels(endpoint, signal), failure: undefined }
  } catch (error) {
    if (!(error instanceof EndpointFailure)) throw error
    return { models: undefined, failure: error.transient ? error : undefined }
  }
}

/** @throws EmbeddingError where the endpoint, which may list only this one, did not answer. */
function listedModel({ models, failure }: Listed): string {
  if (failure !== undefined) throw new EmbeddingError(failure.message)
  const [only, ...others] = models ?? []
  return only === undefined || others.length > 0 ? DEFAULT_MODEL : only.id
}

/**
 * An endpoint that tells a digest with its vectors may also tell prompts. Where it failed to, passages would be embedded
 * otherwise than the model was trained, and nobody would see it.
 * @returns what the endpoint tells of the model, if anything.
 * @throws EmbeddingError where the list could not be read, or tells of another model.
 */
function toldOf(model: string, { models, failure }: Listed, { dimensions, modelDigest }: ProbedModel) {
  if (modelDigest !== undefined && failure !== undefined) throw new EmbeddingError(failure.message)
  const told = models?.find(({ id }) => id === model)
  const isOther = told?.digest !== undefined && told.digest !== modelDigest
  const isLonger = modelDigest !== undefined && told?.dimensions !== undefined && told.dimensions < dimensions
  if (isOther || isLonger) throw new EmbeddingError(`the endpoint lists another ${model} than it serves`)
  return told
}

async function probed(model: string, wanted: number | undefined, options: OpenAiOptions, signal: AbortSignal) {
  const asked = { model, ...(wanted === undefined ? {} : { dimensions: wanted }) }
  const found = await probeModel(asked, options, signal).catch((error: unknown) => {
    if (!(error instanceof EmbeddingError) || !error.permanent) throw error
    throw new OperatorError(
      `The embedding endpoint refuses a first request, ${error.message}: check OPENAI_BASE_URL, OPENAI_API_KEY and ` +
        `--embedding-model${wanted === undefined ? '' : ', and leave out --embedding-dimensions if the model has a fixed number'}.`,
      { cause: error },
    )
  })
  const { dimensions } = found
  if (wanted !== undefined && dimensions !== wanted)
    throw new OperatorError(
      `The embedding endpoint gives ${dimensions} dimensions and not --embedding-dimensions ${wanted}: leave it out, so ` +
        'that the number is learnt.',
    )
  if (dimensions < INDEX_BOUNDS.embeddingDimensionsMin || dimensions > INDEX_BOUNDS.embeddingDimensionsMax)
    throw new OperatorError(
      `The embedding model gives ${dimensions} dimensions: use one with ${INDEX_BOUNDS.embeddingDimensionsMin} to ` +
        `${INDEX_BOUNDS.embeddingDimensionsMax}, or give --embedding-dimensions if it can shorten its vectors.`,
    )
  return found
}

function prefixWarning(model: string): string {
  return (
    `no prefixes are known of the embedding model ${model}: give --embedding-query-prefix and ` +
    '--embedding-passage-prefix as its card names them, or as empty texts'
  )
}

/**
 * Creates the embedder of exactly the embedding space of a version.
 * @throws OperatorError when the endpoint lacks what it needs, or this release cannot embed into the space.
 */
export function createEmbedder(space: EmbeddingSpace, settings: EndpointSettings, options: EndpointOptions = {}) {
  if (space.provider === 'local') throw new OperatorError(LOCAL_VERSION)
  return createOpenAiEmbedder(space, optionsOf(settings, options))
}

function optionsOf(settings: EndpointSettings, asked: EndpointOptions): OpenAiOptions {
  const { OPENAI_API_KEY: apiKey, OPENAI_BASE_URL: baseUrl, OPENAI_TIMEOUT_MS: queryMs } = settings
  if (apiKey === undefined && baseUrl === undefined)
    throw new OperatorError(
      'The openai embedding provider needs OPENAI_API_KEY, or OPENAI_BASE_URL of a server without keys: set one, or ' +
        'build with --embedding none.',
    )
  const build = buildPolicy(asked, systemClock)
  return {
    endpoint: { name: 'the embedding provider', baseUrl: baseUrl ?? OPENAI_BASE_URL, apiKey },
    clock: systemClock,
    policies: { passage: build, query: queryMs === undefined ? build : queryPolicy(queryMs) },
    requestTexts: asked.batch_texts ?? EMBEDDING_BOUNDS.embedRequestTextsDefault,
    tokensMax: undefined,
  }
}
