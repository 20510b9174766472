import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { generateX25519Identity, identityToRecipient } from 'age-encryption'
import { BACKUP_DATABASE_URL } from '#core/db/url.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { OPERATOR_VARIABLES } from '#jobs/platform/config.ts'
import { backUp, restoreBackup, verifyBackup } from '#operator/actions/backup/backup.ts'
import { readIdentity } from '#operator/actions/backup/parts.ts'
import { OPERATOR_BOUNDS } from '#operator/actions/operator.ts'
import { acceptRestore, lostSince, type Lost } from '#operator/actions/restore.ts'
import type { Commands } from '#operator/command-line/command.ts'
import { isGiven, option, text, whole } from '#operator/command-line/inputs.ts'
import { withQueueRedis } from '#operator/command-line/queues.ts'
import { table } from '#operator/command-line/table.ts'
import { change, group, offline } from '#operator/command-line/verbs.ts'

const { DATABASE_URL, OPERATOR_ACTOR, REDIS_URL, ARTIFACT_STORE, MANIFEST_PUBLIC_KEY, KEY_PEPPERS, SERVICE_SECRET } =
  OPERATOR_VARIABLES

/** @throws OperatorError for an object store, which has copies of its own. */
function localFolder(url: string): string {
  if (url.startsWith('file:')) return fileURLToPath(url)
  throw new OperatorError(
    'Backups and restores know no object store: keep versions of the bucket or replicate it, and back Postgres up with ' +
      'pg_dump; with ARTIFACT_STORE=file:///FOLDER a copy of the bucket is backed up.',
  )
}

/** What backups and restores read of the environment. */
const BACKUP_VARIABLES = { ARTIFACT_STORE, MANIFEST_PUBLIC_KEY, KEY_PEPPERS, SERVICE_SECRET } as const

const key = offline('key', 'write a new pair of age, and print its public half; needs no database', {
  notes: 'Keep the file away from this machine: it opens every backup, and none is opened without it.',
  input: { out: option('<file>', 'the private half, which only its owner may read; never overwritten', text) },
  async run({ out }) {
    const secret = await generateX25519Identity()
    const recipient = await identityToRecipient(secret)
    await writeFile(out, `# public key: ${recipient}\n${secret}\n`, { flag: 'wx', mode: 0o600 })
    return [{ identity_file: out, recipient }, recipient]
  },
})

export const commands: Commands = [
  change('backup <to>', 'write a backup into a folder; what earlier ones hold is not written again', {
    notes:
      'It holds every table as of one moment, artifacts, reports and captured sources; workers write the trace again.\n' +
      'It does not hold KEY_PEPPERS, SERVICE_SECRET and the signing key: a restore refuses without them.',
    input: {
      to: text,
      recipient: option(
        '<key>',
        'public half of a pair of age, as "operator backup key" prints it',
        text.regex(/^age1[0-9a-z]{58}$/, 'must be a public key of age, which begins with age1'),
      ),
      keep: option(
        '<n>',
        'remove all backups but so many newest ones; default: keep all',
        whole(1, OPERATOR_BOUNDS.operatorRowsMax).optional(),
      ),
    },
    below: [key],
    variables: { ...BACKUP_VARIABLES, BACKUP_DATABASE_URL },
    async run({ to, recipient, keep }, { operator, config, progress }) {
      progress.update('copying')
      const places = { url: config.BACKUP_DATABASE_URL, store: localFolder(config.ARTIFACT_STORE), to }
      const written = await backUp(operator, { ...places, recipient, keep, secrets: config })
      const { name, tables, files, bytes } = written
      return [written, `Backup ${name} holds ${tables} tables and ${files} files, ${bytes} bytes.`]
    },
  }),
  group('restore', 'an installation from a backup: run; and afterwards: accept', [
    offline('run <from>', 'restore a backup into a new database and an empty store', {
      notes:
        'DATABASE_URL must be of a role that has evidence_migration. Every part is verified before anything is written.\n' +
        'Keys that were revoked, and fingerprints that were erased, by the time of the newest backup stay so.',
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
        const { DATABASE_URL: url, OPERATOR_ACTOR: actor } = config
        const target = { url, actor, store: localFolder(config.ARTIFACT_STORE) }
        const restored = await restoreBackup(target, source, verified)
        note('Next: start the services, then "operator restore accept", which states what is lost.')
        return [restored, JSON.stringify(restored, null, 2)]
      },
    }),
    change('accept', 'state what the restore lost, and with --yes let requests be admitted again', {
      notes:
        'Gateways admit nothing while Postgres lacks what Redis knows to be committed. A later backup loses less.\n' +
        'Revocations, withdrawals and erasures that were lost must be made again; the list names them.',
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
