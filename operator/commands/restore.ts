import type { Redis } from 'ioredis'
import { readAuditHead } from '#core/db/audit.ts'
import type { Queryable } from '#core/db/pool.ts'
import { chargedSince, insertRestore, lacks } from '#core/db/restores.ts'
import { forgetAudit, lostAudit, readConfirmed } from '#core/limits/confirmed.ts'
import { entitlementKeys, epochKey } from '#core/limits/counter-keys.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { OPERATOR_VARIABLES } from '#jobs/platform/config.ts'
import { restoreBackup, verifyBackup } from '#operator/actions/backup/backup.ts'
import { readIdentity } from '#operator/actions/backup/parts.ts'
import { withAudit, type Operator } from '#operator/actions/operator.ts'
import type { Commands } from '#operator/command-line/command.ts'
import { isGiven, option, text } from '#operator/command-line/inputs.ts'
import { withQueueRedis } from '#operator/command-line/queues.ts'
import { table } from '#operator/command-line/table.ts'
import { change, group, offline } from '#operator/command-line/verbs.ts'
import { BACKUP_VARIABLES, localFolder } from './backup.ts'

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

/** What Redis knows and Postgres lacks. */
type Lost = Awaited<ReturnType<typeof lostSince>>

/** @throws OperatorError where nothing is missing. */
async function lostSince(database: Queryable, redis: Redis) {
  const confirmed = await readConfirmed(redis)
  if (!(await lacks(database, confirmed)))
    throw new OperatorError('Postgres has all that was confirmed: there is no restore to accept.')
  const changes = await lostAudit(database, redis)
  const missing = (confirmed.audit?.seq ?? 0) - (await readAuditHead(database)).seq
  return {
    /** Charged requests of this month, at most; only entitlements that lost some. */
    replies: await lostReplies(database, redis),
    /** Audit entries, oldest first: each change that is undone. */
    changes,
    /** Audit entries that are missing and not known in full. */
    changes_unknown: Math.max(0, missing - changes.length),
  }
}

/** Compares the counters in Redis, which outlived the restore, with the reservations. */
async function lostReplies(database: Queryable, redis: Redis) {
  const now = new Date(await redisNowMs(redis))
  const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth()))
  const field = `m${now.getUTCFullYear() * 12 + now.getUTCMonth() + 1}`
  const lost = []
  for (const { id, organization_id, charged, ...about } of await chargedSince(database, month)) {
    const epoch = await redis.hget(epochKey(organization_id), 'epoch')
    if (epoch === null) continue
    const replies = Number(await redis.hget(entitlementKeys(organization_id, epoch, id).counts, field)) - charged
    if (replies > 0) lost.push({ ...about, replies })
  }
  return lost
}

/** Requests are admitted again, under new epochs whose counters are counted from what Postgres has. */
async function acceptRestore(operator: Operator, redis: Redis, lost: Lost): Promise<void> {
  const untilMs = await redisNowMs(redis)
  const { replies, changes, changes_unknown } = lost
  await withAudit(operator, 'restore.accept', async (client) => {
    const id = await insertRestore(client, untilMs)
    const undone = changes.map(({ seq, action, subject }) => ({ seq, action, subject }))
    return [undefined, `restore:${id}`, { confirmed_until_ms: untilMs, replies, changes: undone, changes_unknown }]
  })
  await forgetAudit(redis)
}

async function redisNowMs(redis: Redis): Promise<number> {
  const [seconds] = await redis.time()
  return Number(seconds) * 1_000 + 999
}
