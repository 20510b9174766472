import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs, type ParseArgsConfig } from 'node:util'
import { migrate } from '#core/db/schema.ts'
import { provisionLogins, type LoginUrls } from '#core/db/provision.ts'
import { describeCause } from '#core/platform/log.ts'
import { createSteps, type Steps } from '#operator/demo/steps.ts'
import { startPostgres } from '#operator/demo/local/postgres.ts'

/** The options of a command line are not valid; the message is one sentence. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** @throws UsageError where the arguments have an option that is not listed, or one without a dash. */
export function optionsOf<T extends NonNullable<ParseArgsConfig['options']>>(
  args: readonly string[],
  options: T,
): ReturnType<typeof parseArgs<{ options: T }>>['values'] {
  try {
    return parseArgs({ args: [...args], options }).values
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : 'The options are not valid.', { cause: error })
  }
}

/** @throws UsageError unless it is a number in the range, and whole where `digits` is 0. */
export function numberOf(name: string, text: string, min: number, max: number, digits = 0): number {
  const value = Number(text)
  if (text.trim() === '' || !(value >= min && value <= max) || (digits === 0 && !Number.isInteger(value)))
    throw new UsageError(`--${name} must be a ${digits === 0 ? 'whole ' : ''}number from ${min} to ${max}.`)
  return value
}

/**
 * Runs a command line and sets the exit code: 1 where a guarantee is broken, 2 where the options are not valid.
 * @param flagsOf throws UsageError. @param run returns whether no guarantee was broken.
 */
export async function runCommandLine<T>(
  usage: string,
  flagsOf: (args: readonly string[]) => T | 'help',
  run: (flags: T) => Promise<boolean>,
): Promise<void> {
  try {
    const flags = flagsOf(process.argv.slice(2))
    if (flags === 'help') process.stdout.write(usage)
    else process.exitCode = (await run(flags)) ? 0 : 1
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    process.stderr.write(`${error.message}\n\n${usage}`)
    process.exitCode = 2
  }
}

/**
 * Runs a command line that starts services, and ends the process with the exit code of `run`: 2 where the options are
 * not valid, 1 where it fails.
 * @param flagsOf throws UsageError.
 */
export async function runWithSteps<T>(
  usage: string,
  flagsOf: (args: readonly string[]) => T | 'help',
  run: (flags: T, steps: Steps) => Promise<number>,
): Promise<never> {
  const steps = createSteps(process.stdout)
  try {
    const flags = flagsOf(process.argv.slice(2))
    if (flags === 'help') steps.print(usage)
    return await steps.stop(flags === 'help' ? 0 : await run(flags, steps))
  } catch (error) {
    const invalid = error instanceof UsageError
    steps.print(invalid ? `${error.message}\n\n${usage}` : describeCause(error))
    return await steps.stop(invalid ? 2 : 1)
  }
}

/** Exit code of a shell for SIGINT. */
export const INTERRUPTED = 130

/**
 * The first signal aborts the run, which reports what it has; the second one ends it.
 * @param next what follows the first one, in words.
 */
export function interruptible(steps: Steps, next: string): AbortSignal {
  const interrupted = new AbortController()
  const onSignal = (): void => {
    if (interrupted.signal.aborted) return void steps.stop(INTERRUPTED)
    steps.print(`Interrupted: ${next}, then the report follows.`)
    interrupted.abort()
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal)
  if (process.send !== undefined) process.on('disconnect', () => void steps.stop(INTERRUPTED))
  return interrupted.signal
}

/** Runs `work` on a migrated database of a Postgres of its own, outside of a test run. */
export async function withOwnDatabase<T>(
  name: string,
  work: (database: LoginUrls & { readonly ownerUrl: string }) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), `evidence-${name}-postgres-`))
  const postgres = await startPostgres({ folder })
  try {
    await postgres.createDatabase(name)
    const ownerUrl = postgres.adminUrl(name)
    await migrate(ownerUrl)
    return await work({ ...(await provisionLogins(ownerUrl)), ownerUrl })
  } finally {
    await postgres.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}
