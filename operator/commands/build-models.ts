import { z } from 'zod'
import { endpointOptionsSchema } from '#core/embedding/settings.ts'
import {
  ORDERED_PASSAGES_MAX,
  ORDERED_PASSAGES_MIN,
  READER_KINDS,
  READER_SCORES,
  READ_PASSAGES_MAX,
  orders,
} from '#core/domain/retrieval-profile.ts'
import { EMBEDDING_BOUNDS } from '#core/embedding/bounds.ts'
import { INDEX_BOUNDS } from '#core/index/bounds.ts'
import { OperatorError } from '#core/platform/errors.ts'
import type { BuildParameters } from '#jobs/version-build/parameters.ts'
import { text, whole } from '#operator/command-line/inputs.ts'

const ORDERED_PASSAGES_DEFAULT = 20

/** Flags of `build start` that name the reader of a version. */
export const READER_FLAGS = {
  '--reader <model>': 'this model of READER_BASE_URL scores the first passages of each request, see below',
  '--reader-kind <chat|cross-encoder>': 'a chat model, or one that is asked at {base}/rerank; default chat',
  '--reader-scores <order|decide|both>': 'what its scores do; default decide',
  '--reader-passages <n>': `passages that it orders; default ${ORDERED_PASSAGES_DEFAULT}`,
  '--reader-failure <refuse|decide_without>':
    'what its failure does to a request where its scores only decide: 503, or a decision without it; default refuse',
} as const

export const READER_NOTES = `\
Who reads:
  Without --reader nobody: words and vectors rank and decide. The profile pins the reader's name and instructions.
  decide  It tells an answer from a passage of the same topic that lacks it. With labelled questions of --questions its
          decision is fitted, as a cross-encoder needs: it reads at most 400 of them, one call each of a question and
          five passages; the job worker logs their number first, and a run that resumes repeats no call. The report
          shows the decision with it and without.
  order   It orders more passages than are shown. It is tried on --questions, and kept only if they rank better.
  both    One call does both. Where the order ranks no better, its scores only decide.`

export const readerInput = {
  reader: text.optional(),
  readerKind: z.enum(READER_KINDS, 'must be chat or cross-encoder').default('chat'),
  readerScores: z.enum(READER_SCORES, 'must be order, decide or both').default('decide'),
  readerPassages: whole(ORDERED_PASSAGES_MIN, ORDERED_PASSAGES_MAX).optional(),
  readerFailure: z.enum(['refuse', 'decide_without'], 'must be refuse or decide_without').default('refuse'),
}

/** @throws OperatorError where a reader that orders is to be left out after a failure. */
export function readerOf(input: z.output<z.ZodObject<typeof readerInput>>): BuildParameters['reader'] {
  const { reader: model, readerKind: kind, readerScores: scores, readerFailure } = input
  if (model === undefined) return undefined
  if (orders({ scores }) && readerFailure !== 'refuse')
    throw new OperatorError(
      '--reader-failure decide_without needs --reader-scores decide: a version is served in the order that it was ' +
        'evaluated with.',
    )
  const passages = orders({ scores }) ? (input.readerPassages ?? ORDERED_PASSAGES_DEFAULT) : READ_PASSAGES_MAX
  return { model, kind, scores, passages, on_failure: readerFailure }
}

/** Flags of `build start` that say how the endpoint of OPENAI_BASE_URL is used. */
export const ENDPOINT_FLAGS = {
  '--embedding-model <name>':
    'model that embeds; default: the only one that the endpoint lists, else text-embedding-3-small',
  '--embedding-dimensions <n>': 'shorten vectors to so many dimensions, if the model can; default: those of the model',
  '--embedding-query-prefix <text>':
    'text before each query, as the card of the model states it; default: told by the endpoint or known, else none',
  '--embedding-passage-prefix <text>': 'the same before each passage',
  '--embedding-max-tokens <n>': 'tokens of one text that the model embeds; longer passages are warned of',
  '--embedding-batch <n>': `texts of one request; halved where refused; default ${EMBEDDING_BOUNDS.embedRequestTextsDefault}`,
  '--embedding-concurrency <n>': `requests at once; default ${EMBEDDING_BOUNDS.embedConcurrencyDefault}`,
  '--tokens-per-minute <n>': 'tokens that the build sends a minute; default: no limit',
  '--retry-seconds <n>':
    'time for which a request is repeated while the endpoint is unavailable or limits it; default ' +
    `${EMBEDDING_BOUNDS.embedBuildRetryDefaultMs / 1_000}`,
  '--chat-model <name>': 'chat model that writes the search questions of --search-questions openai',
} as const

const { model, query_prefix: prefix } = endpointOptionsSchema.shape

export const endpointInput = {
  embeddingModel: model,
  embeddingDimensions: whole(INDEX_BOUNDS.embeddingDimensionsMin, INDEX_BOUNDS.embeddingDimensionsMax).optional(),
  embeddingQueryPrefix: prefix,
  embeddingPassagePrefix: prefix,
  embeddingMaxTokens: whole(1, EMBEDDING_BOUNDS.embedTokensMax).optional(),
  embeddingBatch: whole(1, EMBEDDING_BOUNDS.embedRequestTextsMax).optional(),
  embeddingConcurrency: whole(1, EMBEDDING_BOUNDS.embedConcurrencyMax).optional(),
  tokensPerMinute: whole(1, EMBEDDING_BOUNDS.embedTokensPerMinuteMax).optional(),
  retrySeconds: whole(
    EMBEDDING_BOUNDS.embedBuildRetryMinMs / 1_000,
    EMBEDDING_BOUNDS.embedBuildRetryMaxMs / 1_000,
  ).optional(),
  chatModel: model,
}

/** @returns undefined where nothing is said of the endpoint. */
export function endpointOf(input: z.output<z.ZodObject<typeof endpointInput>>): BuildParameters['endpoint'] {
  const { retrySeconds } = input
  const options = {
    model: input.embeddingModel,
    dimensions: input.embeddingDimensions,
    query_prefix: input.embeddingQueryPrefix,
    passage_prefix: input.embeddingPassagePrefix,
    tokens_max: input.embeddingMaxTokens,
    batch_texts: input.embeddingBatch,
    concurrency: input.embeddingConcurrency,
    tokens_per_minute: input.tokensPerMinute,
    retry_ms: retrySeconds === undefined ? undefined : retrySeconds * 1_000,
    chat_model: input.chatModel,
  }
  const named = Object.entries(options).filter(([, value]) => value !== undefined)
  return named.length === 0 ? undefined : endpointOptionsSchema.parse(Object.fromEntries(named))
}
