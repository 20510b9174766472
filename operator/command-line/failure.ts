import { CommanderError } from 'commander'
import { ConfigError } from '#core/platform/config.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { describeCause } from '#core/platform/log.ts'
import { systemCodeOf } from '#core/platform/sqlite-fault.ts'
import FAILURES from './failures.json' with { type: 'json' }

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
      KNOWN[code]?.replace('{path}', () => pathOf(error)) ??
      (error instanceof Error && NO_DATABASE.test(error.message) ? FAILURES.ECONNREFUSED : undefined) ??
      `This failed in a way that was not foreseen: ${describeCause(error)}. No partial change was ` +
        'written; repeat the command and report the error if it happens again.',
  }
}

/** Messages by SQLSTATE or the system's error name, of which some are about a path given or in the artifact store. */
const KNOWN: Readonly<Record<string, string>> = FAILURES

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
