import { openDatabase } from '#core/db/pool.ts'
import { SHIPPED_MIGRATIONS, migrate } from '#core/db/schema.ts'
import { activeLocalVersions } from '#core/db/versions.ts'
import { LOCAL_VERSION } from '#core/embedding/embedder.ts'
import { createLog, type Log } from '#core/platform/log.ts'
import { MIGRATE_VARIABLES } from '#jobs/platform/config.ts'
import type { Commands } from '#operator/command-line/command.ts'
import { assertDatabaseAnswers, offline } from '#operator/command-line/verbs.ts'

export const commands: Commands = [
  offline('migrate', "bring the database's schema up to this release", {
    notes:
      'DATABASE_URL must be of a role that has evidence_migration; every other command takes one with ' +
      'evidence_operator.\nMigrations only go forward, each in one transaction; running this twice ' +
      'does nothing the second time.',
    variables: MIGRATE_VARIABLES,
    async run(_input, { config: { DATABASE_URL: url }, progress, note }) {
      progress.update('migrating')
      const log = createLog('operator', 'silent')
      await assertDatabaseAnswers(url, log)
      const applied = await migrate(url)
      const build_again = await versionsToBuildAgain(url, log)
      for (const one of build_again) note(`${one.knowledge_base}, ${one.version_id}: ${LOCAL_VERSION}`)
      const newest = SHIPPED_MIGRATIONS.at(-1)?.number ?? 0
      const current = `The schema is current (migration ${newest}).`
      return [{ applied, newest, build_again }, applied.length === 0 ? current : `Applied ${applied.join(', ')}.`]
    },
  }),
]

/** Active versions that this release cannot serve: gateways refuse their requests until another one is active. */
async function versionsToBuildAgain(url: string, log: Log): ReturnType<typeof activeLocalVersions> {
  await using database = openDatabase(url, log, 1)
  return await activeLocalVersions(database)
}
