import { CommanderError } from 'commander'
import { ConfigError } from '#core/platform/config.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { describeCause } from '#core/platform/log.ts'
import { systemCodeOf } from '#core/platform/sqlite-fault.ts'

/** Invalid arguments of a command: exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** A replay whose outcome is another one than on record; the result says so: exit code 2. */
export class ReplayDiffers extends Error {
  override readonly name = 'ReplayDiffers'
}

const EXIT_DIFFERENT = 2
const EXIT_OK = 0
const EXIT_REFUSED = 1
const EXIT_USAGE = 2

/**
 * Converts any error of a command to one sentence that says what to do next.
 * The sentence is for standard error; undefined: it is already printed.
 */
export function failureOf(error: unknown) {
  if (error instanceof CommanderError)
    return { exitCode: error.exitCode === 0 ? EXIT_OK : EXIT_USAGE, sentence: undefined }
  if (error instanceof ReplayDiffers) return { exitCode: EXIT_DIFFERENT, sentence: undefined }
  if (error instanceof UsageError) return { exitCode: EXIT_USAGE, sentence: error.message }
  if (error instanceof OperatorError || error instanceof ConfigError)
    return { exitCode: EXIT_REFUSED, sentence: error.message }
  const code = codeOf(error)
  return {
    exitCode: EXIT_REFUSED,
    sentence:
      KNOWN[code] ??
      PATH_FAULTS[code]?.(pathOf(error)) ??
      (error instanceof Error && NO_DATABASE.test(error.message) ? DATABASE_AWAY : undefined) ??
      `This failed in a way that was not foreseen: ${describeCause(error)}. No partial change was ` +
        'written; repeat the command and report the error if it happens again.',
  }
}

const DATABASE_AWAY =
  'Postgres does not answer: check that it runs and that DATABASE_URL names its host, port and database.'
const LOGIN_REFUSED = 'Postgres refused the login: check user, password and database in DATABASE_URL.'

/** Messages by SQLSTATE or the system's error name. */
const KNOWN: Readonly<Record<string, string>> = {
  ECONNREFUSED: DATABASE_AWAY,
  ENOTFOUND: DATABASE_AWAY,
  EAI_AGAIN: DATABASE_AWAY,
  EHOSTUNREACH: DATABASE_AWAY,
  ETIMEDOUT: DATABASE_AWAY,
  ECONNRESET: 'Postgres closed the connection: read its log, then repeat the command.',
  '28P01': LOGIN_REFUSED,
  '28000': LOGIN_REFUSED,
  '3D000': LOGIN_REFUSED,
  '42501':
    'The role in DATABASE_URL may not do this: connect with one that has evidence_operator (or, for ' +
    'migrate, evidence_migration).',
  '42P01': 'The database has no schema yet: run "npm run operator -- migrate" first.',
  '53300': 'Postgres has no connection left: close some, then repeat the command.',
  '57014': 'Postgres took too long: narrow the question (fewer days, fewer rows), then repeat the command.',
  '23505':
    'Somebody else wrote the same at this moment: check the current state, then repeat the command if it is ' +
    'still needed.',
  '40001': 'Somebody else changed the same at this moment: repeat the command.',
}

/** Messages by the system's error name for a path that was given or is in the artifact store. */
const PATH_FAULTS: Readonly<Record<string, (path: string) => string>> = {
  ENOTDIR: (path) => `${path} is not a folder, or is inside a file: correct the path given, or ARTIFACT_STORE.`,
  EACCES: (path) => `This account may not use ${path}: correct the rights there, or the path given, or ARTIFACT_STORE.`,
  EROFS: (path) => `${path} is on a read-only file system: point ARTIFACT_STORE to a writable one.`,
  ENOSPC: (path) =>
    `There is no space left for ${path}: free some or point ARTIFACT_STORE to another disk, then repeat the command.`,
}

/** Returns the path of an error; a failed write does not name its file. */
function pathOf(error: unknown): string {
  return error instanceof Error && 'path' in error && typeof error.path === 'string'
    ? error.path
    : 'a file of the artifact store'
}

/**
 * Messages of the driver, without a code, when the server closes the connection, does not answer, or is not Postgres.
 */
const NO_DATABASE =
  /^(?:Connection terminated|timeout e|received invalid response|There was an error establishing an SSL connection)/

function codeOf(error: unknown): string {
  if (error instanceof AggregateError) return codeOf(error.errors[0])
  return systemCodeOf(error)
}
