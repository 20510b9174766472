import { homedir } from 'node:os'
import { delimiter, isAbsolute, join, resolve } from 'node:path'
import { z } from 'zod'
import { CREDENTIAL_SETTINGS } from '#core/credentials/settings.ts'
import { BACKUP_DATABASE_URL, DATABASE_URL } from '#core/db/url.ts'
import { EMBEDDING_SETTINGS, withEncoder } from '#core/embedding/settings.ts'
import { ENGINE_SETTINGS, engineFaults } from '#core/engine/settings.ts'
import { publicKeyOf } from '#core/index/format/manifest.ts'
import { ARTIFACT_SETTINGS, STORE_SETTINGS, TRACE_DIR } from '#core/index/settings.ts'
import {
  LOG_LEVEL,
  listenAddress,
  movedFaults,
  optional,
  readConfig,
  wholeNumber,
  wholeNumberOf,
} from '#core/platform/config.ts'
import type { ConfigOf, Variable, Variables } from '#core/platform/config.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { TRACING_SETTINGS } from '#core/platform/tracing.ts'
import { REWRITING_SETTINGS } from '#core/rewriting/settings.ts'
import { MOVED_READER_VARIABLES, READING_SETTINGS } from '#core/reading/settings.ts'
import { SEARCH_NODES, TRANSPORT_SETTINGS, addressesOf } from '#core/rpc/settings.ts'
import { transportFaults } from '#core/rpc/transport.ts'
import { REDIS_URL } from '#core/redis/url.ts'
import { JOB_BOUNDS } from './bounds.ts'
import MOVED from './moved-variables.json' with { type: 'json' }
import { PSEUDO_FILE } from '#law/sources/roots.ts'

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

/** Absolute folders. Below the root folder itself everything could be opened. */
const folders = z
  .string()
  .transform((text) => text.split(delimiter))
  .refine((paths) =>
    paths.every((path) => isAbsolute(path) && resolve(path) !== '/' && !PSEUDO_FILE.test(resolve(path))),
  )
  .transform((paths) => paths.map((path) => resolve(path)))

const SOURCE_ROOTS = {
  schema: folders.default([]),
  help:
    'absolute folders, separated by colons, below which a job worker opens the files of scheduled sources, without ' +
    'following links; where the operator has the same value, it refuses other places early',
  fallback: 'none, so that only addresses are captured on a schedule',
} as const satisfies Variable<readonly string[]>

export const JOBS_VARIABLES = {
  DATABASE_URL,
  REDIS_URL,
  ...ARTIFACT_SETTINGS,
  SEARCH_NODES,
  EMBEDDING: EMBEDDING_SETTINGS.EMBEDDING,
  OPENAI_BASE_URL: EMBEDDING_SETTINGS.OPENAI_BASE_URL,
  OPENAI_API_KEY: EMBEDDING_SETTINGS.OPENAI_API_KEY,
  ...REWRITING_SETTINGS,
  ...READING_SETTINGS,
  ...TRANSPORT_SETTINGS,
  ...ENGINE_SETTINGS,
  LOG_LEVEL,
  ...TRACING_SETTINGS,
  TRACE_DIR: { ...TRACE_DIR, schema: optional(TRACE_DIR.schema), fallback: 'trace in ARTIFACT_STORE' },
  SOURCE_ROOTS,
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
    schema: listenAddress('127.0.0.1:8082'),
    help: 'host:port of metrics and /readyz; keep it off the public network',
  },
  HEARTBEAT_FILE: {
    schema: optional(z.string().min(1)),
    help: 'path of a file that is written after each sweep, every five seconds while the worker is well',
  },
  BUILD_CONCURRENCY: {
    schema: wholeNumber(1, JOB_BOUNDS.buildConcurrencyMax, 2),
    help: 'builds that one worker runs side by side',
  },
  BUILD_HEAP_MB: {
    schema: optional(wholeNumberOf(JOB_BOUNDS.buildHeapMbMin, JOB_BOUNDS.buildHeapMbMax)),
    help: 'heap limit of the process of each build, and of a scheduled capture, in MiB; threads and files come on top',
    fallback: 'half the memory of machine or container, divided by BUILD_CONCURRENCY',
  },
} as const satisfies Record<string, Variable<unknown>>

/** A command reads only those that it uses, so that listing keys needs no secret. */
export const OPERATOR_VARIABLES = {
  DATABASE_URL,
  REDIS_URL,
  ...STORE_SETTINGS,
  MANIFEST_PUBLIC_KEY: ARTIFACT_SETTINGS.MANIFEST_PUBLIC_KEY,
  ...EMBEDDING_SETTINGS,
  ...REWRITING_SETTINGS,
  ...READING_SETTINGS,
  ...ENGINE_SETTINGS,
  KEY_PEPPERS: CREDENTIAL_SETTINGS.KEY_PEPPERS,
  SERVICE_SECRET: CREDENTIAL_SETTINGS.SERVICE_SECRET,
  BACKUP_DATABASE_URL: { ...BACKUP_DATABASE_URL, schema: optional(BACKUP_DATABASE_URL.schema) },
  SOURCE_ROOTS,
  SEARCH_NODES: { ...SEARCH_NODES, schema: optional(SEARCH_NODES.schema) },
  SEARCH_TLS_CA: TRANSPORT_SETTINGS.SEARCH_TLS_CA,
  SEARCH_TLS_CERT: TRANSPORT_SETTINGS.SEARCH_TLS_CERT,
  SEARCH_TLS_KEY: TRANSPORT_SETTINGS.SEARCH_TLS_KEY,
  OPERATOR_ACTOR: {
    schema: z.string().trim().min(1).max(200).default('operator'),
    help: 'who acts, as the audit trail keeps it',
  },
} as const satisfies Record<string, Variable<unknown>>

/** `operator migrate`: the URL of a role that has `evidence_migration`. */
export const MIGRATE_VARIABLES = { DATABASE_URL } as const satisfies Record<string, Variable<unknown>>

export type JobsConfig = ConfigOf<typeof JOBS_VARIABLES>

export function jobsConfig(environment: NodeJS.ProcessEnv = process.env): JobsConfig {
  const config = readConfig(JOBS_VARIABLES, environment, (values) => [
    ...transportFaults(values.SEARCH_NODES === undefined ? [] : addressesOf(values.SEARCH_NODES), values),
    ...signingFaults(values),
    ...engineFaults(values),
    ...(values.ARTIFACT_STORE?.startsWith('s3:') === true && values.TRACE_DIR === undefined
      ? ['TRACE_DIR is missing: an object store does not hold the trace, so name a folder that all job workers share']
      : []),
    ...movedFaults(environment, MOVED_VARIABLES),
  ])
  return withEncoder(config)
}

/** Variables of the process of a capture, which reads what others wrote, and so has no key that signs. */
const CAPTURE_VARIABLES = { DATABASE_URL, ...STORE_SETTINGS, SOURCE_ROOTS, LOG_LEVEL } as const satisfies Variables
export type CaptureConfig = ConfigOf<typeof CAPTURE_VARIABLES>

export function captureConfig(environment: NodeJS.ProcessEnv): CaptureConfig {
  return readConfig(CAPTURE_VARIABLES, environment)
}

/** The variables that `captureConfig` reads, and those of Node. */
export function captureEnvironment(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { DATABASE_URL: url, ARTIFACT_STORE: store } = captureConfig(environment)
  const { DATABASE_URL_FILE: _, ...others } = environment
  const names = [...Object.keys(CAPTURE_VARIABLES), 'PATH']
  const kept = Object.entries(others).filter(([name]) => names.includes(name) || name.startsWith('NODE_'))
  return { ...Object.fromEntries(kept), ...sdkEnvironment(store, environment), DATABASE_URL: url }
}

/** The variables in which the AWS SDK finds region and credentials; none where the store is a folder. */
export function sdkEnvironment(store: string | undefined, environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const isOfSdk = ([name]: readonly [string, unknown]): boolean => name === 'HOME' || name.startsWith('AWS_')
  return store?.startsWith('s3:') === true ? Object.fromEntries(Object.entries(environment).filter(isOfSdk)) : {}
}

/** Lets the SDK find what this process was told. */
export function adoptSdkEnvironment(environment: NodeJS.ProcessEnv): void {
  Object.assign(process.env, sdkEnvironment(environment['ARTIFACT_STORE'], environment))
}

/** What a build takes by itself, so that no version depends on what a worker was started with. */
const MOVED_VARIABLES = { ...MOVED_READER_VARIABLES, ...MOVED }

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

/** What a command needs that parses; no secret of keys or providers. */
export function commandEnvironment(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const needed = ['DATABASE_URL', 'REDIS_URL', 'SOURCE_ROOTS', 'OPERATOR_ACTOR', ...Object.keys(STORE_SETTINGS)]
  const others = Object.keys({ ...JOBS_VARIABLES, ...OPERATOR_VARIABLES }).filter((name) => !needed.includes(name))
  const isKept = ([name]: readonly [string, unknown]): boolean => !others.includes(name.replace(/_FILE$/, ''))
  return Object.fromEntries(Object.entries(environment).filter(isKept))
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
