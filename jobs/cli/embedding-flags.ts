import { InvalidArgumentError } from 'commander'
import type { Command } from 'commander'
import { EmbeddingError } from '#core/embedding/embedder.ts'
import type { Embedder } from '#core/embedding/embedder.ts'
import { createLocalEmbedder } from '#core/embedding/local/embedder.ts'
import { openEmbedder } from '#core/embedding/providers.ts'
import type { EmbeddingSettings } from '#core/embedding/providers.ts'
import { BOUNDS } from '#core/platform/bounds.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { secretVariable } from '#jobs/config.ts'

/** The embedding provider of a command line; without `embeddings` it is the local one. */
export interface EmbeddingFlags {
  /** Base URL of an OpenAI-compatible endpoint. */
  readonly embeddings?: string
  readonly embeddingModel?: string
  readonly embeddingDimensions?: number
  /** Texts of one request. */
  readonly embeddingBatch?: number
  readonly embeddingQueryPrefix?: string
  readonly embeddingPassagePrefix?: string
  /** Name of the environment variable that holds the key. */
  readonly embeddingKeyEnv?: string
}

function endpointUrl(text: string): string {
  const { protocol, username, password } = URL.parse(text) ?? {}
  if (protocol !== 'http:' && protocol !== 'https:') throw new InvalidArgumentError('must be an http or https URL.')
  if (username !== '' || password !== '')
    throw new InvalidArgumentError('must hold no key: name a variable with --embedding-key-env.')
  return text
}

function wholeNumberOf(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (!/^\d+$/.test(text) || value < min || value > max)
      throw new InvalidArgumentError(`must be a whole number from ${min} to ${max}.`)
    return value
  }
}

function variableName(text: string): string {
  if (!/^[A-Za-z_][A-Za-z0-9_]{0,99}$/.test(text))
    throw new InvalidArgumentError('must be the name of an environment variable.')
  return text
}

/** Adds the options of an embedding provider to a command; its `opts()` are then `EmbeddingFlags`. */
export function embeddingOptions(command: Command): Command {
  return command
    .option(
      '--embeddings <url>',
      'embed with the OpenAI-compatible endpoint at this base URL (default: the built-in embedder, which needs none)',
      endpointUrl,
    )
    .option('--embedding-model <name>', 'model of the endpoint; required with --embeddings')
    .option(
      '--embedding-dimensions <n>',
      'shorten vectors to so many dimensions, if the model can (default: those of the model)',
      wholeNumberOf(8, 4_096),
    )
    .option(
      '--embedding-batch <n>',
      'texts of one request; fewer where the endpoint refuses so many',
      wholeNumberOf(1, 2_048),
    )
    .option('--embedding-query-prefix <text>', 'put before every question (default: as the model was trained)')
    .option('--embedding-passage-prefix <text>', 'put before every passage (default: as the model was trained)')
    .option('--embedding-key-env <name>', 'environment variable that holds the key of the endpoint', variableName)
}

type FlaggedSettings = EmbeddingSettings & { readonly OPENAI_BATCH_TEXTS: number | undefined }

/**
 * Returns the settings of the endpoint, or undefined for the local embedder.
 * @throws OperatorError where flags do not belong together, or the variable of the key is not set.
 */
function embeddingSettingsOf(flags: EmbeddingFlags): FlaggedSettings | undefined {
  const { embeddings, embeddingModel, embeddingKeyEnv } = flags
  if (embeddings === undefined) {
    const [without] = Object.entries(flags).find(([name, value]) => OWN.has(name) && value !== undefined) ?? []
    if (without !== undefined)
      throw new OperatorError('The --embedding-… options say how an endpoint is used: name it with --embeddings URL.')
    return undefined
  }
  if (embeddingModel === undefined)
    throw new OperatorError('--embeddings needs a model: name it with --embedding-model NAME.')
  return {
    OPENAI_BASE_URL: embeddings,
    OPENAI_API_KEY: embeddingKeyEnv === undefined ? undefined : secretVariable(embeddingKeyEnv),
    OPENAI_MODEL: embeddingModel,
    OPENAI_DIMENSIONS: flags.embeddingDimensions,
    OPENAI_QUERY_PREFIX: flags.embeddingQueryPrefix,
    OPENAI_PASSAGE_PREFIX: flags.embeddingPassagePrefix,
    OPENAI_BATCH_TEXTS: flags.embeddingBatch,
    OPENAI_TIMEOUT_MS: BOUNDS.embedBatchTimeoutMs,
  }
}

const OWN: ReadonlySet<string> = new Set<keyof EmbeddingFlags>([
  'embeddingModel',
  'embeddingDimensions',
  'embeddingBatch',
  'embeddingQueryPrefix',
  'embeddingPassagePrefix',
  'embeddingKeyEnv',
])

/**
 * Opens the embedder that the flags name.
 * @throws OperatorError where flags do not belong together, or the endpoint cannot be used.
 */
export async function openFlaggedEmbedder(flags: EmbeddingFlags, signal: AbortSignal): Promise<Embedder> {
  const settings = embeddingSettingsOf(flags)
  if (settings === undefined) return createLocalEmbedder()
  try {
    return await openEmbedder('openai', settings, signal)
  } catch (cause) {
    if (!(cause instanceof EmbeddingError)) throw cause
    throw new OperatorError(
      `The endpoint of --embeddings cannot be used (${cause.message}): check that it runs, and its model and key.`,
      { cause },
    )
  }
}
