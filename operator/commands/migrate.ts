import { newestMigration } from '#core/db/migration-files.ts'
import { migrate } from '#core/db/migrate.ts'
import { createLog } from '#core/platform/log.ts'
import { MIGRATE_VARIABLES } from '#jobs/platform/config.ts'
import type { Commands } from '#operator/command-line/command.ts'
import { assertDatabaseAnswers, offline } from '#operator/command-line/verbs.ts'

export const commands: Commands = [
  offline('migrate', "bring the database's schema up to this release", {
    notes:
      'DATABASE_URL must be of a role that has evidence_migration; every other command takes one with ' +
      'evidence_operator.\nMigrations only go forward, each in one transaction; running this twice ' +
      'does nothing the second time.',
    examples: ['migrate'],
    variables: MIGRATE_VARIABLES,
    async run(_input, { config: { DATABASE_URL: url }, progress }) {
      progress.update('migrating')
      await assertDatabaseAnswers(url, createLog('operator', 'silent'))
      const { applied } = await migrate(url)
      const newest = newestMigration()
      const current = `The schema is current (migration ${newest}).`
      return [{ applied, newest }, applied.length === 0 ? current : `Applied ${applied.join(', ')}.`]
    },
  }),
]
