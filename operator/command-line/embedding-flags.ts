import { join } from 'node:path'
import type { Command } from 'commander'
import { z } from 'zod'
import { EmbeddingError, type Embedder, type Embedding } from '#core/embedding/embedder.ts'
import { openEmbedder } from '#core/embedding/providers.ts'
import { DATABASE_BOUNDS } from '#core/db/bounds.ts'
import { EMBEDDING_BOUNDS } from '#core/embedding/bounds.ts'
import { EMBEDDING_SETTINGS, endpointOptionsSchema, type EndpointOptions } from '#core/embedding/settings.ts'
import { OperatorError } from '#core/platform/errors.ts'
import type { VectorSettings } from '#jobs/version-build/text-vectors.ts'
import { secretVariable, userCacheFolder } from '#jobs/platform/config.ts'
import HELP from './embedding-flags.json' with { type: 'json' }
import { option } from './inputs.ts'

const fields = endpointOptionsSchema.shape
const number = z
  .string()
  .regex(/^\d{1,12}$/, 'must be a whole number')
  .transform(Number)

/** Options of commands that say how an embeddings endpoint is used. */
export const endpointInput = {
  embeddingModel: option('<name>', HELP.embeddingModel, fields.model),
  embeddingDimensions: option('<n>', HELP.embeddingDimensions, number.pipe(fields.dimensions.unwrap()).optional()),
  embeddingQueryPrefix: option('<text>', HELP.embeddingQueryPrefix, fields.query_prefix),
  embeddingPassagePrefix: option('<text>', 'the same before each passage', fields.passage_prefix),
  embeddingMaxTokens: option('<n>', HELP.embeddingMaxTokens, number.pipe(fields.tokens_max.unwrap()).optional()),
  embeddingBatch: option(
    '<n>',
    `texts of one request; halved where refused; default ${EMBEDDING_BOUNDS.embedRequestTextsDefault}`,
    number.pipe(fields.batch_texts.unwrap()).optional(),
  ),
  embeddingConcurrency: option(
    '<n>',
    `requests at once; default ${EMBEDDING_BOUNDS.embedConcurrencyDefault}`,
    number.pipe(fields.concurrency.unwrap()).optional(),
  ),
  tokensPerMinute: option('<n>', HELP.tokensPerMinute, number.pipe(fields.tokens_per_minute.unwrap()).optional()),
  retrySeconds: option(
    '<n>',
    `${HELP.retrySeconds} ${EMBEDDING_BOUNDS.embedBuildRetryDefaultMs / 1_000}`,
    number
      .refine((seconds) => fields.retry_ms.safeParse(seconds * 1_000).success, 'must be from 60 to 3600')
      .optional(),
  ),
}

export function endpointOf(input: z.output<z.ZodObject<typeof endpointInput>>): EndpointOptions {
  return {
    model: input.embeddingModel,
    dimensions: input.embeddingDimensions,
    query_prefix: input.embeddingQueryPrefix,
    passage_prefix: input.embeddingPassagePrefix,
    tokens_max: input.embeddingMaxTokens,
    batch_texts: input.embeddingBatch,
    concurrency: input.embeddingConcurrency,
    tokens_per_minute: input.tokensPerMinute,
    retry_ms: input.retrySeconds === undefined ? undefined : input.retrySeconds * 1_000,
  }
}

/** Options of commands that start or use an embedding provider themselves. */
export const embeddingInput = {
  embedding: option('<who>', HELP.embedding, z.enum(['none']).optional()),
  model: option('<folder or name>', HELP.model),
  embeddings: option(
    '<url>',
    'embed with the OpenAI-compatible endpoint at this base URL',
    z
      .string()
      .refine(
        (url) => EMBEDDING_SETTINGS.OPENAI_BASE_URL.schema.safeParse(url).success,
        'must be an http or https URL without query and key; name the variable of a key with --embedding-key-env',
      )
      .optional(),
  ),
  embeddingKeyEnv: option(
    '<name>',
    'environment variable that holds the key of the endpoint',
    z
      .string()
      .regex(/^[A-Za-z_][A-Za-z0-9_]{0,99}$/, 'must be the name of an environment variable')
      .optional(),
  ),
  ...endpointInput,
}

/** The embedding of a command line; with neither `model` nor `embeddings` there is none. */
export type EmbeddingFlags = z.output<z.ZodObject<typeof embeddingInput>> & {
  /** Folder; false: no vector is kept. */
  readonly vectorCache?: string | false
}

const CACHE_DEFAULT = 'default: evidence-retrieval-service in $XDG_CACHE_HOME or ~/.cache; at most 4 GiB'

/** Adds the options of a cache that is outside of an installation. */
export function vectorCacheOptions(command: Command): Command {
  return command
    .option(
      '--vector-cache <folder>',
      `keep vectors of the endpoint here, so that a text is sent once (${CACHE_DEFAULT})`,
    )
    .option('--no-vector-cache', 'keep no vector')
}

/**
 * Returns the endpoint; undefined: none is used.
 * @throws OperatorError where flags do not belong together, or the variable of the key is not set.
 */
function flaggedEndpoint(flags: EmbeddingFlags) {
  const { embedding, embeddings, embeddingModel, embeddingKeyEnv } = flags
  if (embedding !== undefined && embeddings !== undefined)
    throw new OperatorError(`--embedding ${embedding} uses no endpoint: leave out it or --embeddings.`)
  if (embeddings === undefined) {
    const [without] = Object.entries(flags).find(([name, value]) => OWN.has(name) && value !== undefined) ?? []
    if (without !== undefined)
      throw new OperatorError('The --embedding-… options say how an endpoint is used: name it with --embeddings URL.')
    return undefined
  }
  if (embeddingModel === undefined)
    throw new OperatorError('--embeddings needs a model: name it with --embedding-model NAME.')
  const OPENAI_API_KEY = embeddingKeyEnv === undefined ? undefined : keyOf(embeddingKeyEnv)
  return { settings: { OPENAI_BASE_URL: embeddings, OPENAI_API_KEY }, options: endpointOf(flags) }
}

/** @throws OperatorError unless the variable holds what a header can carry. */
function keyOf(name: string): string {
  const key = EMBEDDING_SETTINGS.OPENAI_API_KEY.schema.safeParse(secretVariable(name))
  if (key.data === undefined)
    throw new OperatorError(`The environment variable ${name} holds no key of one line: set it to the key.`)
  return key.data
}

const OWN: ReadonlySet<string> = new Set<string>([...Object.keys(endpointInput), 'embeddingKeyEnv'])

/**
 * Returns the variables with which services use the endpoint; empty where none is used.
 * @throws OperatorError as `openFlaggedEmbedder`.
 */
export function embeddingEnvironment(flags: EmbeddingFlags): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(flaggedEndpoint(flags)?.settings ?? {}).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value]],
    ),
  )
}

/** Returns how a build uses the endpoint; undefined where none is used. @throws OperatorError as `openFlaggedEmbedder`. */
export function flaggedOptions(flags: EmbeddingFlags): EndpointOptions | undefined {
  return flaggedEndpoint(flags)?.options
}

export function flaggedEmbedding({ embedding, embeddings, model }: EmbeddingFlags): Embedding {
  return embedding ?? (embeddings === undefined && model === undefined ? 'none' : 'openai')
}

/** Returns how a build of the command line uses the endpoint, and where it keeps vectors. */
export function vectorSettingsOf({
  embeddingBatch,
  embeddingConcurrency,
  vectorCache,
}: EmbeddingFlags): VectorSettings {
  const folder = vectorCache ?? userCacheFolder()
  return {
    concurrency: embeddingConcurrency ?? EMBEDDING_BOUNDS.embedConcurrencyDefault,
    batchTexts: embeddingBatch ?? EMBEDDING_BOUNDS.embedRequestTextsDefault,
    cache:
      folder === false
        ? undefined
        : { path: join(folder, 'vectors.sqlite'), bytesMax: DATABASE_BOUNDS.vectorCacheBytesMax },
  }
}

/**
 * Opens the embedder that the flags name.
 * @param note takes a warning about the settings.
 * @returns undefined where words alone rank.
 * @throws OperatorError where flags do not belong together, or the endpoint cannot be used.
 */
export async function openFlaggedEmbedder(
  flags: EmbeddingFlags,
  signal: AbortSignal,
  note: (sentence: string) => void = () => undefined,
): Promise<Embedder | undefined> {
  const endpoint = flaggedEndpoint(flags)
  if (endpoint === undefined) return undefined
  const { settings, options } = endpoint
  try {
    // A wrong address is reported at once; later requests are retried as those of a build.
    await openEmbedder(settings, { ...options, retry_ms: EMBEDDING_BOUNDS.flaggedEndpointRetryMs }, signal)
    return await openEmbedder(settings, options, signal, note)
  } catch (cause) {
    if (!(cause instanceof EmbeddingError)) throw cause
    throw new OperatorError(
      `The endpoint of --embeddings cannot be used (${cause.message}): check that it runs, and its model and key.`,
      { cause },
    )
  }
}
