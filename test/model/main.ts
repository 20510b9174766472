import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { migrate } from '#core/db/migrate.ts'
import { provisionLogins } from '#core/db/provision.ts'
import { startPostgres } from '#jobs/demo/local/postgres.ts'
import { USAGE, UsageError, modelFlags } from './flags.ts'
import type { ModelFlags } from './flags.ts'
import { runModel } from './run.ts'
import { openServers } from './servers.ts'

const PROGRESS_EVERY = 50

/** @returns whether no guarantee was broken. */
async function runFor({ seed, minutes }: ModelFlags): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), 'evidence-model-postgres-'))
  const postgres = await startPostgres({ folder })
  try {
    await postgres.createDatabase('model')
    const ownerUrl = postgres.adminUrl('model')
    await migrate(ownerUrl)
    const { gatewayUrl } = await provisionLogins(ownerUrl)
    const servers = await openServers({ ownerUrl, gatewayUrl })
    try {
      let done = 0
      process.stdout.write(`Seed ${seed}, ${minutes} minutes.\n`)
      const { sequences, violation } = await runModel(servers, {
        seed,
        minutes,
        sequences: Number.MAX_SAFE_INTEGER,
        onSequence: () => {
          if (++done % PROGRESS_EVERY === 0) process.stdout.write(`${done} sequences so far\n`)
        },
      })
      if (violation !== null) process.stdout.write(`${violation}\n`)
      process.stdout.write(`${sequences} sequences, ${violation === null ? 0 : 1} violations\n`)
      return violation === null
    } finally {
      await servers.close()
    }
  } finally {
    await postgres.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

try {
  const flags = modelFlags(process.argv.slice(2))
  if (flags === 'help') process.stdout.write(USAGE)
  else process.exitCode = (await runFor(flags)) ? 0 : 1
} catch (error) {
  if (!(error instanceof UsageError)) throw error
  process.stderr.write(`${error.message}\n\n${USAGE}`)
  process.exitCode = 2
}
