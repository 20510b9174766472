import type { OperatorCommand } from '#operator/command-line/operator-command.ts'
import { SHIPPED_MIGRATIONS, migrate } from '#core/db/schema.ts'
import { createLog } from '#core/platform/log.ts'
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
    async (_input, { show, progress }) => {
      progress.update('migrating')
      const { DATABASE_URL } = migrateConfig(environment)
      await assertDatabaseAnswers(DATABASE_URL, createLog('operator', 'silent'))
      const applied = await migrate(DATABASE_URL)
      const result = { applied, newest: SHIPPED_MIGRATIONS.at(-1)?.number ?? 0 }
      show(result, () =>
        applied.length === 0 ? `The schema is current (migration ${result.newest}).` : `Applied ${applied.join(', ')}.`,
      )
    },
  )
}
