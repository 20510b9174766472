import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { z } from 'zod'
import { CREDENTIAL_SETTINGS } from '#core/credentials/settings.ts'
import { DATABASE_URL } from '#core/db/url.ts'
import { EMBEDDING_SETTINGS, withEncoder } from '#core/embedding/settings.ts'
import { DATABASE_BOUNDS } from '#core/db/bounds.ts'
import { EMBEDDING_BOUNDS } from '#core/embedding/bounds.ts'
import { ENGINE_SETTINGS, engineFaults } from '#core/engine/settings.ts'
import { INDEX_BOUNDS } from '#core/index/bounds.ts'
import { publicKeyOf } from '#core/index/format/manifest.ts'
import { ARTIFACT_SETTINGS, TRACE_DIR } from '#core/index/settings.ts'
import { LOG_LEVEL, oneAddress, optional, readConfig, wholeNumber, wholeNumberOf } from '#core/platform/config.ts'
import type { ConfigOf, Variable, Variables } from '#core/platform/config.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { READING_SETTINGS } from '#core/reading/settings.ts'
import { RERANKING_SETTINGS } from '#core/reranking/settings.ts'
import { SEARCH_NODES, TRANSPORT_SETTINGS } from '#core/rpc/settings.ts'
import { transportFaults } from '#core/rpc/transport.ts'
import { REDIS_URL } from '#core/redis/url.ts'
import { JOB_BOUNDS } from './bounds.ts'

/** Control characters would reach logs and terminals. */
const chatModel = z
  .string()
  .regex(/^\P{Cc}+$/u)
  .max(INDEX_BOUNDS.embeddingModelCharactersMax)

/** A program and its arguments, as the JSON list that a shell would make of a line. */
const command = z
  .string()
  .transform((value, context): unknown => {
    try {
      return JSON.parse(value)
    } catch {
      context.addIssue({ code: 'custom', message: 'must be a JSON list' })
      return z.NEVER
    }
  })
  .pipe(z.tuple([z.string().refine(isAbsolute, 'must begin with an absolute path')], z.string()))

/** Variables of the job worker. */
export const JOBS_VARIABLES = {
  DATABASE_URL,
  REDIS_URL,
  ...ARTIFACT_SETTINGS,
  SEARCH_NODES,
  EMBEDDING: EMBEDDING_SETTINGS.EMBEDDING,
  OPENAI_BASE_URL: EMBEDDING_SETTINGS.OPENAI_BASE_URL,
  OPENAI_API_KEY: EMBEDDING_SETTINGS.OPENAI_API_KEY,
  OPENAI_MODEL: EMBEDDING_SETTINGS.OPENAI_MODEL,
  OPENAI_DIMENSIONS: EMBEDDING_SETTINGS.OPENAI_DIMENSIONS,
  OPENAI_QUERY_PREFIX: EMBEDDING_SETTINGS.OPENAI_QUERY_PREFIX,
  OPENAI_PASSAGE_PREFIX: EMBEDDING_SETTINGS.OPENAI_PASSAGE_PREFIX,
  OPENAI_MAX_TOKENS: EMBEDDING_SETTINGS.OPENAI_MAX_TOKENS,
  OPENAI_BATCH_TEXTS: EMBEDDING_SETTINGS.OPENAI_BATCH_TEXTS,
  OPENAI_TOKENS_PER_MINUTE: EMBEDDING_SETTINGS.OPENAI_TOKENS_PER_MINUTE,
  OPENAI_RETRY_MS: EMBEDDING_SETTINGS.OPENAI_RETRY_MS,
  OPENAI_CHAT_MODEL: {
    schema: optional(chatModel),
    help: 'chat model of the endpoint that writes search questions for "build start --search-questions openai"',
  },
  OPENAI_CONCURRENCY: {
    schema: wholeNumber(1, EMBEDDING_BOUNDS.embedConcurrencyMax, EMBEDDING_BOUNDS.embedConcurrencyDefault),
    help: 'batches of passages that a build sends at once',
    fallback: String(EMBEDDING_BOUNDS.embedConcurrencyDefault),
  },
  VECTOR_CACHE_BYTES_MAX: {
    schema: wholeNumber(0, DATABASE_BOUNDS.vectorCacheBytesMax, DATABASE_BOUNDS.vectorCacheBytesDefault),
    help: 'bytes of the file in ARTIFACT_STORE that keeps vectors of the provider for later builds; 0 keeps none',
    fallback: String(DATABASE_BOUNDS.vectorCacheBytesDefault),
  },
  ...RERANKING_SETTINGS,
  ...READING_SETTINGS,
  ...TRANSPORT_SETTINGS,
  ...ENGINE_SETTINGS,
  LOG_LEVEL,
  TRACE_DIR: {
    ...TRACE_DIR,
    schema: optional(TRACE_DIR.schema),
    fallback: 'trace in ARTIFACT_STORE',
  },
  CAPTURE_WEBHOOK_URL: {
    schema: optional(z.url({ protocol: /^https?$/ })),
    help:
      'address that is told by POST when a scheduled capture changed or failed, and when its candidate is built or its ' +
      'build failed',
  },
  CAPTURE_COMMAND: {
    schema: optional(command),
    help:
      'program that is told the same as JSON on standard input: its absolute path and arguments as a JSON list; no shell, ' +
      'none of these variables, ten seconds',
  },
  JOBS_LISTEN: {
    schema: optional(oneAddress),
    help: 'host:port of metrics: candidates that wait for a review, and sources by their last capture',
  },
  HEARTBEAT_FILE: {
    schema: optional(z.string().min(1)),
    help: 'path of a file whose time is set every five seconds while the worker is well',
  },
  BUILD_CONCURRENCY: {
    schema: wholeNumber(1, JOB_BOUNDS.buildConcurrencyMax, 2),
    help: 'builds that one worker runs side by side',
    fallback: '2',
  },
  BUILD_HEAP_MB: {
    schema: optional(wholeNumberOf(JOB_BOUNDS.buildHeapMbMin, JOB_BOUNDS.buildHeapMbMax)),
    help: 'heap limit of the process of each build, and of a scheduled capture, in MiB; threads and files come on top',
    fallback: 'half the memory of machine or container, divided by BUILD_CONCURRENCY',
  },
} as const satisfies Record<string, Variable<unknown>>

/** Variables of the operator's command line. */
export const OPERATOR_VARIABLES = {
  DATABASE_URL,
  REDIS_URL,
  ARTIFACT_STORE: ARTIFACT_SETTINGS.ARTIFACT_STORE,
  MANIFEST_PUBLIC_KEY: ARTIFACT_SETTINGS.MANIFEST_PUBLIC_KEY,
  EMBEDDING: EMBEDDING_SETTINGS.EMBEDDING,
  OPENAI_BASE_URL: EMBEDDING_SETTINGS.OPENAI_BASE_URL,
  OPENAI_API_KEY: EMBEDDING_SETTINGS.OPENAI_API_KEY,
  OPENAI_TIMEOUT_MS: EMBEDDING_SETTINGS.OPENAI_TIMEOUT_MS,
  ...RERANKING_SETTINGS,
  ...READING_SETTINGS,
  ...ENGINE_SETTINGS,
  KEY_PEPPERS: CREDENTIAL_SETTINGS.KEY_PEPPERS,
  SERVICE_SECRET: CREDENTIAL_SETTINGS.SERVICE_SECRET,
  OPERATOR_ACTOR: {
    schema: z.string().trim().min(1).max(200).default('operator'),
    help: 'who acts, as the audit trail keeps it',
    fallback: 'operator',
  },
} as const satisfies Record<string, Variable<unknown>>

/** `operator migrate`: the URL of a role that has `evidence_migration`. */
export const MIGRATE_VARIABLES = { DATABASE_URL } as const satisfies Record<string, Variable<unknown>>

export type JobsConfig = ConfigOf<typeof JOBS_VARIABLES>

export function jobsConfig(environment: NodeJS.ProcessEnv = process.env): JobsConfig {
  const config = readConfig(JOBS_VARIABLES, environment, (values) => [
    ...transportFaults(values.SEARCH_NODES ?? [], values),
    ...signingFaults(values),
    ...engineFaults(values),
  ])
  return withEncoder(config)
}

/** Search nodes have the same list of keys, so they load what this worker signs. */
function signingFaults({
  MANIFEST_PRIVATE_KEY: privateKey,
  MANIFEST_PUBLIC_KEY: publicKeys,
}: Partial<JobsConfig>): readonly string[] {
  if (privateKey === undefined || publicKeys === undefined) return []
  const own = publicKeyOf(privateKey)
  return publicKeys.some((key) => key.equals(own))
    ? []
    : ['MANIFEST_PRIVATE_KEY belongs to no key of MANIFEST_PUBLIC_KEY: add its public key to that list']
}

/** A command reads only the `OPERATOR_VARIABLES` that it uses, so that listing keys needs no secret. */
export function operatorConfig<V extends Variables>(variables: V, environment: NodeJS.ProcessEnv): ConfigOf<V> {
  return readConfig(variables, environment)
}

/** The environment of this process, for a command line that passes it on. */
export function ownEnvironment(): NodeJS.ProcessEnv {
  return process.env
}

/**
 * Reads a secret from a variable that the command line names, so that the command line itself holds none.
 * @throws OperatorError when it is not set.
 */
export function secretVariable(name: string): string {
  const value = process.env[name]?.trim() ?? ''
  if (value === '') throw new OperatorError(`The environment variable ${name} is not set: set it to the key.`)
  return value
}

/** Returns the folder of this program among the caches of the user, as the XDG base directory specification has it. */
export function userCacheFolder(): string {
  const { XDG_CACHE_HOME: caches = '' } = process.env
  return join(isAbsolute(caches) ? caches : join(homedir(), '.cache'), 'evidence-retrieval-service')
}

/** Returns the folder of the models that `operator models fetch` keeps, which docker-compose.yml mounts. */
export function modelsFolder(): string {
  const { MODELS_DIR = '' } = process.env
  return MODELS_DIR === '' ? 'models' : MODELS_DIR
}
