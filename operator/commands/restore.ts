import { OPERATOR_VARIABLES } from '#jobs/platform/config.ts'
import { acceptRestore, lostSince, type Lost } from '#operator/actions/restore.ts'
import type { Commands } from '#operator/command-line/command.ts'
import { isGiven, option } from '#operator/command-line/inputs.ts'
import { withQueueRedis } from '#operator/command-line/queues.ts'
import { table } from '#operator/command-line/table.ts'
import { change, group } from '#operator/command-line/verbs.ts'

const { REDIS_URL } = OPERATOR_VARIABLES

export const commands: Commands = [
  group('restore', 'after Postgres was restored to an earlier state: accept', [
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
    ['organization', 'client', 'environment', 'knowledge_base', ['replies', 'lost replies, at most']],
    'No reply of this month is known to be lost.',
  )
  const undone = table(changes, ['seq', 'at', 'action', 'subject'], 'No change is known to be lost.')
  const more = changes_unknown === 0 ? '' : `\n${changes_unknown} more changes are lost, of which nothing is known.`
  return `${served}\n\n${undone}${more}`
}
