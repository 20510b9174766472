import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { migrate } from '#core/db/migrate.ts'
import { provisionLogins } from '#core/db/provision.ts'
import type { LoginUrls } from '#core/db/provision.ts'
import { startPostgres } from '#operator/demo/local/postgres.ts'

/** The options of a command line are not valid; the message is one sentence. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
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
