import { OPERATOR_VARIABLES } from '#jobs/platform/config.ts'
import { restoreBackup, verifyBackup } from '#operator/actions/backup/backup.ts'
import { readIdentity } from '#operator/actions/backup/parts.ts'
import { acceptRestore, lostSince, type Lost } from '#operator/actions/restore.ts'
import { BACKUP_VARIABLES, localFolder } from './backup.ts'
import type { Commands } from '#operator/command-line/command.ts'
import { isGiven, option, text } from '#operator/command-line/inputs.ts'
import { withQueueRedis } from '#operator/command-line/queues.ts'
import { table } from '#operator/command-line/table.ts'
import { change, group, offline } from '#operator/command-line/verbs.ts'

const { DATABASE_URL, OPERATOR_ACTOR, REDIS_URL } = OPERATOR_VARIABLES

export const commands: Commands = [
  group('restore', 'an installation from a backup: run; and afterwards: accept', [
    offline('run <from>', 'restore a backup into a new database and an empty store', {
      notes:
        'DATABASE_URL must be of a role that has evidence_migration. Every part is verified before anything is written.\n' +
        'Keys that were revoked, and fingerprints that were erased, by the time of the newest backup stay so.',
      examples: ['restore run /backups --identity backup.key --check', 'restore run /backups --identity backup.key'],
      input: {
        from: text,
        identity: option('<file>', 'private half of the pair, as "operator backup key" wrote it', text),
        backup: option('<name>', 'default: the newest one'),
        check: option('', 'verify every part, and write nothing', isGiven),
      },
      variables: { DATABASE_URL, OPERATOR_ACTOR, ...BACKUP_VARIABLES },
      async run({ check, identity, ...input }, { config, progress, note }) {
        const source = { ...input, identity: await readIdentity(identity), secrets: config }
        progress.update('verifying')
        const verified = await verifyBackup(source)
        const { name: backup } = verified
        if (check) return [{ backup, whole: true }, `Backup ${backup} is whole.`]
        const { DATABASE_URL: url, OPERATOR_ACTOR: actor, ARTIFACT_STORE } = config
        const target = { url, actor, store: localFolder(ARTIFACT_STORE) }
        const restored = await restoreBackup(target, source, verified)
        note('Next: start the services, then "operator restore accept", which states what is lost.')
        return [restored, JSON.stringify(restored, null, 2)]
      },
    }),
    change('accept', 'state what the restore lost, and with --yes let requests be admitted again', {
      notes:
        'Gateways admit nothing while Postgres lacks what Redis knows to be committed. A later backup loses less.\n' +
        'Revocations, withdrawals and erasures that were lost must be made again; the list names them.',
      examples: ['restore accept', 'restore accept --yes'],
      input: { yes: option('', 'confirm: what is listed stays lost', isGiven) },
      variables: { REDIS_URL },
      run: async ({ yes }, { operator, database, config }) =>
        await withQueueRedis(config.REDIS_URL, async (redis) => {
          const lost = await lostSince(database, redis)
          if (yes) await acceptRestore(operator, redis, lost)
          const next = yes
            ? 'Accepted: requests are admitted again, and the counters are counted anew.'
            : 'Nothing was changed: restore a later backup, or repeat the command with --yes.'
          return [{ ...lost, accepted: yes }, `${inWords(lost)}\n\n${next}`]
        }),
    }),
  ]),
]

function inWords({ replies, changes, changes_unknown }: Lost): string {
  const served = table(
    replies,
    'organization client environment knowledge_base replies=lost_replies,_at_most',
    'No reply of this month is known to be lost.',
  )
  const undone = table(changes, 'seq at action subject', 'No change is known to be lost.')
  const more = changes_unknown === 0 ? '' : `\n${changes_unknown} more changes are lost, of which nothing is known.`
  return `${served}\n\n${undone}${more}`
}
