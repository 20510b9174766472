import { CommanderError } from 'commander'
import { ConfigError } from '#core/platform/config.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { describeCause } from '#core/platform/log.ts'

/** What was typed does not fit the command: exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

const EXIT_OK = 0
const EXIT_REFUSED = 1
const EXIT_USAGE = 2

export interface Failure {
  readonly exitCode: number
  /** For standard error; undefined when it was said already. */
  readonly sentence: string | undefined
}

/** Whatever a command threw becomes one sentence that says what to do next. */
export function failureOf(error: unknown): Failure {
  if (error instanceof CommanderError)
    return { exitCode: error.exitCode === 0 ? EXIT_OK : EXIT_USAGE, sentence: undefined }
  if (error instanceof UsageError) return { exitCode: EXIT_USAGE, sentence: error.message }
  if (error instanceof OperatorError || error instanceof ConfigError)
    return { exitCode: EXIT_REFUSED, sentence: error.message }
  const code = codeOf(error)
  return {
    exitCode: EXIT_REFUSED,
    sentence:
      KNOWN[code] ??
      PATH_FAULTS[code]?.(pathOf(error)) ??
      (isNoDatabase(error) ? DATABASE_AWAY : undefined) ??
      `This failed in a way that was not foreseen: ${describeCause(error)}. Nothing was half ` +
        'written; see whether it happens again and report it.',
  }
}

const DATABASE_AWAY =
  'Postgres does not answer: check that it runs and that DATABASE_URL names its host, port and database.'
const LOGIN_REFUSED = 'Postgres refused the login: check user, password and database in DATABASE_URL.'

/** By SQLSTATE or the system's error name. */
const KNOWN: Readonly<Record<string, string>> = {
  ECONNREFUSED: DATABASE_AWAY,
  ENOTFOUND: DATABASE_AWAY,
  EAI_AGAIN: DATABASE_AWAY,
  EHOSTUNREACH: DATABASE_AWAY,
  ETIMEDOUT: DATABASE_AWAY,
  ECONNRESET: 'Postgres broke the connection off: see its log, then repeat the command.',
  '28P01': LOGIN_REFUSED,
  '28000': LOGIN_REFUSED,
  '3D000': LOGIN_REFUSED,
  '42501':
    'The role in DATABASE_URL may not do this: connect with one that has evidence_operator (or, for ' +
    'migrate, that owns the schema).',
  '42P01': 'The database has no schema yet: run "npm run operator -- migrate" first.',
  '53300': 'Postgres has no connection left: close some, then repeat the command.',
  '57014': 'Postgres took too long: narrow the question (fewer days, fewer rows), then repeat the command.',
  '23505':
    'Somebody else wrote the same at this moment: look at what is there, then repeat the command if it is still needed.',
  '40001': 'Somebody else changed the same at this moment: repeat the command.',
}

/** By the system's error name: what is wrong with a path that was given or lies in the artifact store. */
const PATH_FAULTS: Readonly<Record<string, (path: string) => string>> = {
  ENOTDIR: (path) =>
    `${path} is no folder, or lies in something that is none: correct the path given, or ARTIFACT_STORE.`,
  EACCES: (path) => `This account may not use ${path}: correct the rights there, or the path given, or ARTIFACT_STORE.`,
  EROFS: (path) => `${path} lies where nothing can be written: point ARTIFACT_STORE to a place that can be written to.`,
  ENOSPC: (path) =>
    `There is no space left for ${path}: free some or point ARTIFACT_STORE to another disk, then repeat the command.`,
}

/** A write that fails does not say to which file. */
function pathOf(error: unknown): string {
  return error instanceof Error && 'path' in error && typeof error.path === 'string'
    ? error.path
    : 'a file of the artifact store'
}

/**
 * The driver's words, which have no code, when the other side ends the connection, stays silent, or speaks as something
 * else.
 */
const NO_DATABASE =
  /^(?:Connection terminated|timeout e|received invalid response|There was an error establishing an SSL connection)/

function isNoDatabase(error: unknown): boolean {
  return error instanceof Error && NO_DATABASE.test(error.message)
}

function codeOf(error: unknown): string {
  if (error instanceof AggregateError) return codeOf(error.errors[0])
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
}
