import { Option } from 'commander'
import { z } from 'zod'
import { EMBEDDING_BOUNDS } from '#core/embedding/bounds.ts'
import { endpointOptionsSchema } from '#core/embedding/settings.ts'
import type { EndpointOptions } from '#core/embedding/settings.ts'
import { option } from './inputs.ts'

/** Options of commands that say how an embeddings endpoint is used. */
export const ENDPOINT_OPTIONS = {
  '--embedding-model <name>':
    'model that embeds; default: the only one that the endpoint lists, else text-embedding-3-small',
  '--embedding-dimensions <n>': 'shorten vectors to so many dimensions, if the model can; default: those of the model',
  '--embedding-query-prefix <text>':
    'text before each query, as the card of the model states it; default: told by the endpoint or known, else none',
  '--embedding-passage-prefix <text>': 'the same before each passage',
  '--embedding-max-tokens <n>': 'tokens of one text that the model embeds; longer passages are warned of',
  '--embedding-batch <n>': `texts of one request; halved where refused; default ${EMBEDDING_BOUNDS.embedRequestTextsDefault}`,
  '--embedding-concurrency <n>': `requests at once; default ${EMBEDDING_BOUNDS.embedConcurrencyDefault}`,
  '--tokens-per-minute <n>': 'tokens that are sent a minute; default: no limit',
  '--retry-seconds <n>':
    'time for which a request is repeated while the endpoint is unavailable or limits it; default ' +
    `${EMBEDDING_BOUNDS.embedBuildRetryDefaultMs / 1_000}`,
} as const

const fields = endpointOptionsSchema.shape
const number = z
  .string()
  .regex(/^\d{1,12}$/, 'must be a whole number')
  .transform(Number)

const described = new Map(
  Object.entries(ENDPOINT_OPTIONS).map(([flag, help]) => {
    const value = flag.slice(flag.indexOf(' ') + 1)
    return [new Option(flag).attributeName(), { value, help }]
  }),
)

/** The schema of an option's text, by the attribute of the option. */
function of<T extends z.ZodType>(attribute: string, schema: T): T {
  const { value = '', help = '' } = described.get(attribute) ?? {}
  return option(value, help, schema)
}

/** Schemas of their texts, by the attributes of the options. */
export const endpointInput = {
  embeddingModel: of('embeddingModel', fields.model),
  embeddingDimensions: of('embeddingDimensions', number.pipe(fields.dimensions.unwrap()).optional()),
  embeddingQueryPrefix: of('embeddingQueryPrefix', fields.query_prefix),
  embeddingPassagePrefix: of('embeddingPassagePrefix', fields.passage_prefix),
  embeddingMaxTokens: of('embeddingMaxTokens', number.pipe(fields.tokens_max.unwrap()).optional()),
  embeddingBatch: of('embeddingBatch', number.pipe(fields.batch_texts.unwrap()).optional()),
  embeddingConcurrency: of('embeddingConcurrency', number.pipe(fields.concurrency.unwrap()).optional()),
  tokensPerMinute: of('tokensPerMinute', number.pipe(fields.tokens_per_minute.unwrap()).optional()),
  retrySeconds: of(
    'retrySeconds',
    number
      .refine((seconds) => fields.retry_ms.safeParse(seconds * 1_000).success, 'must be from 60 to 3600')
      .optional(),
  ),
}
export type EndpointInput = z.output<z.ZodObject<typeof endpointInput>>

export function endpointOf(input: EndpointInput): EndpointOptions {
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
