import type { OperatorCommand } from '#operator/command-line/operator-command.ts'
import { SHIPPED_MIGRATIONS, migrate } from '#core/db/schema.ts'
import { openDatabase } from '#core/db/pool.ts'
import { activeLocalVersions } from '#core/db/versions.ts'
import { LOCAL_VERSION } from '#core/embedding/embedder.ts'
import { createLog } from '#core/platform/log.ts'
import type { Log } from '#core/platform/log.ts'
import { MIGRATE_VARIABLES, migrateConfig } from '#jobs/platform/config.ts'
import { addCommand } from '#operator/command-line/command.ts'
import { assertDatabaseAnswers } from '#operator/command-line/session.ts'

export function addMigrate(program: OperatorCommand): void {
  const { environment } = program.console
  addCommand(
    program,
    {
      usage: 'migrate',
      summary: "bring the database's schema up to this release",
      notes:
        'DATABASE_URL must be of a role that has evidence_migration; every other command takes one with ' +
        'evidence_operator.\nMigrations only go forward, each in one transaction; running this twice ' +
        'does nothing the second time.',
      examples: ['migrate'],
      input: {},
    },
    MIGRATE_VARIABLES,
    async (_input, { show, progress, note }) => {
      progress.update('migrating')
      const { DATABASE_URL } = migrateConfig(environment)
      const log = createLog('operator', 'silent')
      await assertDatabaseAnswers(DATABASE_URL, log)
      const applied = await migrate(DATABASE_URL)
      const build_again = await versionsToBuildAgain(DATABASE_URL, log)
      for (const one of build_again) note(`${one.knowledge_base}, ${one.version_id}: ${LOCAL_VERSION}`)
      const result = { applied, newest: SHIPPED_MIGRATIONS.at(-1)?.number ?? 0, build_again }
      show(result, () =>
        applied.length === 0 ? `The schema is current (migration ${result.newest}).` : `Applied ${applied.join(', ')}.`,
      )
    },
  )
}

/** Active versions that this release cannot serve: gateways refuse their requests until another one is active. */
async function versionsToBuildAgain(url: string, log: Log): ReturnType<typeof activeLocalVersions> {
  const database = openDatabase(url, log, 1)
  try {
    return await activeLocalVersions(database)
  } finally {
    await database.end()
  }
}
